package main

var reasonsOfStore = []reason{
	{
		file: "store/internal/arena/advice_linux.go", function: "populate", text: "errors.Is(err, unix.EINVAL)",
		why: "Linux before 5.14 cannot populate. What it does instead is tested by itself.",
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
		file: "store/close.go", function: "(*Store).shutdown", text: "if s.unmapError != nil {",
		why: "The system refuses to take back what it gave.",
	},
	{
		file: "store/writer.go", function: "(*Writer).Wait", text: "case <-ctx.Done()", luck: true,
		why: "A wait is cancelled at the moment in which what it waits for is done.",
	},
	{
		file: "store/memory.go", function: "newMemory", text: "nodeBytes+sumBytes+tableBytes(slots) > math.MaxInt",
		why: "A platform of 32 bits, and a budget near its whole address space in blocks of a byte or two.",
	},
}
