package main

import "github.com/spf13/cobra"

// newRootCommand assembles the command line.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "bench",
		Short:         "Size, replay and check stores of MoE routing rows",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	addMainJob(root)
	root.AddCommand(newCapacityCommand(), newHashCommand(), newReplayCommand(), newScaleCommand(), newSearchCommand(), newSoakCommand(), newThroughputCommand(), newVerifyCommand())
	return root
}
