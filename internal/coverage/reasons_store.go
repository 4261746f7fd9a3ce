package main

// reasonsOfStore is provisional: the package is being worked on.
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
		file: "store/internal/arena/mapping.go", function: "(*Region).Populate", text: "populate(step); err != nil",
		why: "The system runs out of memory between the mapping and its first use.",
	},
	{
		file: "store/count.go", function: "(*Store).count", text: "*refs == maxRefs",
		why: "Provisional: two thousand million retains of one hash take minutes.",
	},
	{
		file: "store/lease.go", function: "(*Lease).Generation", text: "return l.generation",
		why: "Provisional: run by the tests of connector.",
	},
	{
		file: "store/lease.go", function: "(*Lease).disown", text: "kept = append(kept, hash)",
		why: "Provisional: can be reached.",
	},
	{
		file: "store/memory.go", function: "(*memory).reserve", text: "bookBytes > math.MaxInt",
		why: "Provisional: a platform of 32 bits, and a budget near its whole address space.",
	},
	{
		file: "store/memory.go", function: "(*memory).reserve", text: "m.bookRegion, err = arena.New",
		why: "Provisional: the system gives memory for the blocks, and none for their book-keeping.",
	},
	{
		file: "store/memory.go", function: "(*memory).reserve", text: "region.Populate(); err != nil",
		why: "Provisional: the system runs out of memory between the mapping and its first use.",
	},
	{
		file: "store/options.go", function: "Options.slots", text: "slots*int64(o.BlockBytes) > math.MaxInt",
		why: "A platform of 32 bits: no int64 is too large for 64.",
	},
	{
		file: "store/read.go", function: "(*Store).get", text: "len(hashes) > (math.MaxInt-len(dst))/s.blockBytes",
		why: "Provisional: can be reached with blocks of a huge size.",
	},
	{
		file: "store/read.go", function: "(*Store).acquire", text: "hashes[i].IsZero()",
		why: "Provisional: can be reached.",
	},
	{
		file: "store/read.go", function: "(*Store).locate", text: "slot != 0 && nodes[slot].hash != hashes[i]",
		why: "Provisional: two hashes whose seeded tags of 32 bits are the same.",
	},
	{
		file: "store/room.go", function: "(*Store).makeRoom", text: "short <= s.slots.unviewed { return nil, true }", luck: true,
		why: "Provisional: hangs on which goroutine comes first.",
	},
	{
		file: "store/room.go", function: "(*Store).makeRoom", text: "case n.busy > 0: soon = soon || short > 0 short--", luck: true,
		why: "Provisional: hangs on which goroutine comes first.",
	},
	{
		file: "store/slots.go", function: "(*slots).unpinView", text: "{ s.unviewed++", luck: true,
		why: "Provisional: hangs on which goroutine comes first.",
	},
	{
		file: "store/store.go", function: "(*Store).Close", text: "for s.inFlight > 0 { s.wait() }", luck: true,
		why: "Provisional: hangs on which goroutine comes first.",
	},
	{
		file: "store/store.go", function: "(*Store).Close", text: "for !s.unmapped { s.wait() }", luck: true,
		why: "Provisional: hangs on which goroutine comes first.",
	},
	{
		file: "store/store.go", function: "(*Store).Close", text: `Op: "close", Reason: auxerrors.ErrMemory`,
		why: "The system refuses to take back what it gave.",
	},
	{
		file: "store/view.go", function: "View.Len", text: `if v.open("view") != nil { return 0`,
		why: "Provisional: can be reached.",
	},
	{
		file: "store/view.go", function: "View.WriteTo", text: `v.open("view write"); err != nil`,
		why: "Provisional: can be reached.",
	},
	{
		file: "store/view.go", function: "View.WriteTo", text: "err = io.ErrShortWrite",
		why: "Provisional: can be reached.",
	},
	{
		file: "store/view.go", function: "View.WriteTo", text: `"auxoutput: view: after %d bytes: %w"`,
		why: "Provisional: can be reached.",
	},
	{
		file: "store/view.go", function: "View.Close", text: "CompareAndSwap(v.ticket, v.ticket+1) { return", luck: true,
		why: "Two goroutines close one view at the same moment.",
	},
	{
		file: "store/writer.go", function: "(*Writer).Wait", text: "case <-ctx.Done()", luck: true,
		why: "Provisional: hangs on which goroutine comes first.",
	},
}
