package main

var reasonsOfStore = []reason{
	{
		file: "store/internal/arena/advice_linux.go", function: "populate", text: "errors.Is(err, unix.EINVAL)",
		why: "Linux before 5.14 cannot populate. What it does instead is tested by itself.",
	},
	{
		file: "store/internal/arena/arena.go", function: "(*Region).Mapped", text: "if !offHeap { return 0",
		why: "Windows, and race builds, whose tests run it: memory lies in the Go heap there.",
	},
	{
		file: "store/internal/arena/mapping.go", function: "(*Region).Release", text: "unix.Munmap(raw); err != nil",
		why: "The system refuses to take back what it gave.",
	},
	{
		file: "store/options.go", function: "Options.slots", text: "slots*int64(o.BlockBytes) > math.MaxInt",
		why: "A platform of 32 bits: no int64 is too large for 64.",
	},
	{
		file: "store/room.go", function: "(*Store).makeRoom", text: "short <= s.slots.unviewed { return nil, true }", luck: true,
		why: "A put runs out of slots at the moment in which a copy out of a removed block ends.",
	},
	{
		file: "store/room.go", function: "(*Store).makeRoom", text: "case n.busy > 0: soon = soon || short > 0 short--", luck: true,
		why: "A put takes the place of a block that was removed while retained, at the moment in which it is read.",
	},
	{
		file: "store/slots.go", function: "(*slots).unpinView", text: "{ s.unviewed++", luck: true,
		why: "A view of a removed block is closed at the moment in which the block is copied.",
	},
	{
		file: "store/store.go", function: "(*Store).Close", text: "for s.inFlight > 0 { s.wait() }", luck: true,
		why: "Close comes while a copy is under way.",
	},
	{
		file: "store/store.go", function: "(*Store).Close", text: "for !s.unmapped { s.wait() }", luck: true,
		why: "A second Close comes while the first one waits.",
	},
	{
		file: "store/store.go", function: "(*Store).Close", text: `Op: "close", Reason: auxerrors.ErrMemory`,
		why: "The system refuses to take back what it gave.",
	},
	{
		file: "store/writer.go", function: "(*Writer).Wait", text: "case <-ctx.Done()", luck: true,
		why: "A wait is cancelled at the moment in which what it waits for is done.",
	},
	{
		file: "store/memory.go", function: "(*memory).reserve", text: "nodeBytes+sumBytes+cellBytes > math.MaxInt",
		why: "A platform of 32 bits, and a budget near its whole address space in blocks of a byte or two.",
	},
}
