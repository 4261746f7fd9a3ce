package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/auxoutput/auxoutput/blockhash"
)

// maxTokenLine is the longest line of tokens that is read, in bytes. A million
// tokens on one line are 7 MB.
const maxTokenLine = 16 << 20

// hashFlags are the flags of the command as they were given.
type hashFlags struct {
	algorithm   string
	seed        string
	root        string
	blockTokens int
	lora, salt  string
	json        bool
}

// newHashCommand makes "hash", which prints the block hashes of tokens.
func newHashCommand() *cobra.Command {
	var flags hashFlags
	cmd := &cobra.Command{
		Use:   "hash [TOKENS|FILE|-]",
		Short: "Print the KV block hashes of a list of tokens",
		Long: `Print the KV block hashes of a list of tokens, as a vLLM engine computes them.

Tokens are numbers set apart by commas, white space or both, with or without
square brackets around them all. They come from the argument, from a file, or
from standard input.

Every full block gives one line: its index, its hash, the hash's last 8 bytes
as an unsigned number (vLLM's KV events) and its first 8 bytes as a signed one
(SGLang's form, AIBrix' view of vLLM's hashes).`,
		Example: `  bench hash --block 4 "1, 2, 3, 4, 5, 6, 7, 8, 9"
  bench hash --algorithm sha256_cbor --seed 42 prompt.txt
  bench hash --lora sql-adapter --salt tenant-7 --json - < prompt.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("hash takes one argument, not %d; put quotes around a list with spaces", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			chain, report, err := flags.chain(cmd.Flags().Changed("seed"), cmd.Flags().Changed("root"))
			if err != nil {
				return err
			}
			if err := appendInput(chain, cmd.InOrStdin(), args); err != nil {
				return err
			}
			report.fill(chain)
			out := bufio.NewWriter(cmd.OutOrStdout())
			if flags.json {
				err = json.NewEncoder(out).Encode(report)
			} else {
				report.print(out)
			}
			return errors.Join(err, out.Flush())
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.algorithm, "algorithm", blockhash.SHA256.String(), "sha256, sha256_cbor, xxhash, xxhash_cbor or xxh64")
	f.StringVar(&flags.seed, "seed", "", "the engine's PYTHONHASHSEED (default: the root of an engine without one)")
	f.StringVar(&flags.root, "root", "", "the root itself, in hexadecimal, in place of a seed")
	f.IntVar(&flags.blockTokens, "block", 16, "tokens in a block")
	f.StringVar(&flags.lora, "lora", "", "name of the LoRA adapter")
	f.StringVar(&flags.salt, "salt", "", "cache salt")
	f.BoolVar(&flags.json, "json", false, "print one JSON object")
	return cmd
}

// chain makes the chain that the flags describe. Its errors are usage errors.
func (f *hashFlags) chain(hasSeed, hasRoot bool) (*blockhash.Chain, *hashReport, error) {
	algorithm, err := blockhash.ParseAlgorithm(f.algorithm)
	if err != nil {
		return nil, nil, usagef("--algorithm: %w", err)
	}
	var root blockhash.Hash
	switch {
	case hasSeed && hasRoot:
		return nil, nil, usagef("--seed and --root exclude each other")
	case hasRoot:
		if root, err = blockhash.Parse(f.root); err != nil {
			return nil, nil, usagef("--root: %w", err)
		}
	case hasSeed:
		if root, err = blockhash.SeedRoot(algorithm, f.seed); err != nil {
			return nil, nil, usagef("--seed: %w", err)
		}
	default:
		if root, err = blockhash.DefaultRoot(algorithm); err != nil {
			return nil, nil, usagef("%w; give --seed or --root", err)
		}
	}
	request := blockhash.Request{LoRA: f.lora, Salt: f.salt}
	chain, err := blockhash.NewChain(algorithm, root, f.blockTokens, request)
	switch {
	case errors.Is(err, blockhash.ErrBlockTokens):
		return nil, nil, usagef("--block: %w", err)
	case errors.Is(err, blockhash.ErrSize):
		return nil, nil, usagef("--root: %w", err)
	case err != nil:
		return nil, nil, usageError{err}
	}
	report := &hashReport{Algorithm: algorithm.String(), Root: root.String(), BlockTokens: f.blockTokens}
	return chain, report, nil
}

// hashReport is what the command prints. 64-bit integers are decimal strings,
// as many readers of JSON round them otherwise.
type hashReport struct {
	Algorithm   string      `json:"algorithm"`
	Root        string      `json:"root"`
	BlockTokens int         `json:"block_tokens"`
	Tokens      int         `json:"tokens"`
	Blocks      []hashBlock `json:"blocks"`
	Left        int         `json:"left"`
}

type hashBlock struct {
	Index   int    `json:"index"`
	Hash    string `json:"hash"`
	Low64   uint64 `json:"low64,string"`
	First64 int64  `json:"first64,string"`
}

func (r *hashReport) fill(chain *blockhash.Chain) {
	hashes := chain.Hashes()
	r.Tokens = chain.Tokens()
	r.Left = len(chain.Pending())
	r.Blocks = make([]hashBlock, len(hashes))
	for i, h := range hashes {
		r.Blocks[i] = hashBlock{Index: i, Hash: h.String(), Low64: h.Low64(), First64: h.First64()}
	}
}

// print leaves errors of writing to the Flush that follows.
func (r *hashReport) print(out *bufio.Writer) {
	for _, b := range r.Blocks {
		fmt.Fprintf(out, "%d\t%s\t%d\t%d\n", b.Index, b.Hash, b.Low64, b.First64)
	}
	fmt.Fprintf(out, "%d of %d tokens are left in the partial block\n", r.Left, r.Tokens)
}

// appendInput reads the tokens from wherever the argument says.
func appendInput(chain *blockhash.Chain, stdin io.Reader, args []string) error {
	if len(args) == 0 || args[0] == "-" {
		return appendTokens(chain, "standard input", stdin)
	}
	arg := args[0]
	isList := strings.Trim(arg, "0123456789-, \t\r\n[]") == ""
	if isList {
		return appendTokens(chain, "tokens", strings.NewReader(arg))
	}
	file, err := os.Open(arg)
	if err != nil {
		// A list with a slip in it is more likely than a file of such a name.
		if strings.ContainsAny(arg[:1], "0123456789[-") {
			return appendTokens(chain, "tokens", strings.NewReader(arg))
		}
		return err
	}
	defer file.Close()
	return appendTokens(chain, arg, file)
}

// appendTokens reads the tokens of a source line by line. Its errors name the
// source, the line and the column in bytes, both from 1.
func appendTokens(chain *blockhash.Chain, name string, source io.Reader) error {
	scanner := bufio.NewScanner(source)
	scanner.Buffer(nil, maxTokenLine)
	var brackets bracketState
	var tokens []uint32
	line := 0
	for scanner.Scan() {
		line++
		text := scanner.Bytes()
		if line == 1 {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		}
		if column, err := brackets.blank(text, chain.Tokens() == 0); err != nil {
			return fmt.Errorf("%s: line %d, column %d: %w", name, line, column, err)
		}
		var err error
		tokens, err = blockhash.AppendTokens(tokens[:0], string(text))
		if bad := (*blockhash.TokenError)(nil); errors.As(err, &bad) {
			return fmt.Errorf("%s: line %d, column %d: %w", name, line, bad.Offset+1, err)
		}
		chain.Append(tokens...)
	}
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s: line %d is longer than %d bytes", name, line+1, maxTokenLine)
	case err != nil:
		return fmt.Errorf("%s: after line %d: %w", name, line, err)
	case brackets == bracketOpen:
		return fmt.Errorf("%s: line %d: the list is not closed, it may be cut off", name, line)
	}
	return nil
}

// bracketState follows the square brackets around the whole list.
type bracketState int

const (
	bracketNone bracketState = iota
	bracketOpen
	bracketClosed
)

// blank overwrites with spaces the bracket that begins the first line with
// anything on it and the one that ends the last. Brackets elsewhere stay, and
// are no tokens.
func (s *bracketState) blank(line []byte, nothingYet bool) (column int, err error) {
	const space = " \t\v\f\r"
	first := len(line) - len(bytes.TrimLeft(line, space))
	if first == len(line) {
		return 0, nil
	}
	if *s == bracketClosed {
		return first + 1, errors.New("text after the list's closing bracket")
	}
	if *s == bracketNone && nothingYet && line[first] == '[' {
		line[first] = ' '
		*s = bracketOpen
	}
	if last := len(bytes.TrimRight(line, space)) - 1; *s == bracketOpen && last >= 0 && line[last] == ']' {
		line[last] = ' '
		*s = bracketClosed
	}
	return 0, nil
}
