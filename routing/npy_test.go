package routing_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// npyFile is a file with any header.
func npyFile(version byte, header string, payload ...byte) []byte {
	file := append([]byte("\x93NUMPY"), version, 0)
	if version == 1 {
		file = binary.LittleEndian.AppendUint16(file, uint16(len(header)))
	} else {
		file = binary.LittleEndian.AppendUint32(file, uint32(len(header)))
	}
	return append(append(file, header...), payload...)
}

func npyHeader(descr, order, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
}

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	for _, experts := range []int{1, 128, 256, 257, 65536} {
		for _, n := range []int{0, 1, 2, 3, 100} {
			p := profile(t, 3, 1, experts)
			rows := sample(t, p, 0, n, 0)
			file := encode(t, rows, routing.FormatNpy)
			require.Zero(t, (len(file)-len(rows.Data))%64, "the ids begin at a multiple of 64")
			a, err := routing.DecodeNpy(file)
			require.NoError(t, err)
			again, err := a.Rows(p, 0)
			require.NoError(t, err)
			require.Equal(t, rows.Data, again.Data)

			text := encode(t, rows, routing.FormatNpyBase64)
			require.Equal(t, base64.StdEncoding.EncodeToString(file), string(text))
		}
	}
}

func TestHeadersThatNumPyReadsAreRead(t *testing.T) {
	big := []byte{0, 1, 0, 2, 1, 0, 1, 44}
	for _, tc := range []struct {
		name    string
		file    []byte
		dtype   routing.DType
		payload []byte
	}{
		{"one byte, every byte order", npyFile(1, npyHeader("<u1", "False", "(2, 1, 2)"), 1, 2, 3, 4), routing.Uint8, []byte{1, 2, 3, 4}},
		{"one byte, native order", npyFile(1, npyHeader("=u1", "False", "(2, 1, 2)"), 1, 2, 3, 4), routing.Uint8, []byte{1, 2, 3, 4}},
		{"one byte, big-endian", npyFile(1, npyHeader(">u1", "False", "(2, 1, 2)"), 1, 2, 3, 4), routing.Uint8, []byte{1, 2, 3, 4}},
		{"int8", npyFile(1, npyHeader("|i1", "False", "(2, 1, 2)"), 1, 2, 3, 127), routing.Int8, []byte{1, 2, 3, 127}},
		{"big-endian uint16", npyFile(1, npyHeader(">u2", "False", "(2, 1, 2)"), big...), routing.Uint16, []byte{1, 0, 2, 0, 0, 1, 44, 1}},
		{"big-endian int32", npyFile(1, npyHeader(">i4", "False", "(2, 1, 1)"), big...), routing.Int32, []byte{2, 0, 1, 0, 44, 1, 0, 1}},
		{"Fortran order of wide items", npyFile(1, npyHeader("<u2", "True", "(2, 1, 2)"), 1, 0, 3, 0, 2, 0, 4, 0), routing.Uint16, []byte{1, 0, 2, 0, 3, 0, 4, 0}},
		{"big-endian and Fortran order", npyFile(2, npyHeader(">u2", "True", "(2, 1, 2)"), 0, 1, 0, 3, 0, 2, 0, 4), routing.Uint16, []byte{1, 0, 2, 0, 3, 0, 4, 0}},
		{"version 3", npyFile(3, npyHeader("|u1", "False", "(2, 1, 2)"), 1, 2, 3, 4), routing.Uint8, []byte{1, 2, 3, 4}},
		{"Python 2 long numbers", npyFile(1, npyHeader("|u1", "False", "(2L, 1L, 2L)"), 1, 2, 3, 4), routing.Uint8, []byte{1, 2, 3, 4}},
		{"other quotes, order and blanks", npyFile(1, "\n{ \"shape\":(2,1,2,) ,\t\"fortran_order\":False,\"descr\":\"|u1\"}  ", 1, 2, 3, 4), routing.Uint8, []byte{1, 2, 3, 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := bytes.Clone(tc.file)
			a, err := routing.DecodeNpy(tc.file)
			require.NoError(t, err)
			require.Equal(t, tc.dtype, a.DType)
			require.Equal(t, tc.payload, a.Data)
			require.Equal(t, before, tc.file, "the input is not written to")
		})
	}
}

func TestHeadersThatNobodyWritesAreRefused(t *testing.T) {
	fine := npyHeader("|u1", "False", "(1, 1, 2)")
	for _, tc := range []struct {
		name, header string
		reason       error
	}{
		{"no dict", "7", routing.ErrFormat},
		{"an empty dict", "{}", routing.ErrFormat},
		{"an unfinished dict", fine[:30], routing.ErrFormat},
		{"a key twice", strings.Replace(fine, "'descr'", "'shape': (1, 1, 2), 'descr'", 1), routing.ErrFormat},
		{"an unknown key", strings.Replace(fine, "'descr'", "'pickle': True, 'descr'", 1), routing.ErrFormat},
		{"no comma", strings.Replace(fine, ", 'shape'", " 'shape'", 1), routing.ErrFormat},
		{"no colon", strings.Replace(fine, "'shape':", "'shape'", 1), routing.ErrFormat},
		{"something behind", fine + "#", routing.ErrFormat},
		{"an escape", strings.Replace(fine, "|u1", `\x7cu1`, 1), routing.ErrFormat},
		{"a string without end", "{'descr", routing.ErrFormat},
		{"a key that is no string", "{descr: '|u1'}", routing.ErrFormat},
		{"a type that is no string", strings.Replace(fine, "'|u1'", "u1", 1), routing.ErrFormat},
		{"an order that is a number", strings.Replace(fine, "False", "0", 1), routing.ErrFormat},
		{"a list for a shape", npyHeader("|u1", "False", "[1, 1, 2]"), routing.ErrFormat},
		{"a number for a shape", npyHeader("|u1", "False", "2"), routing.ErrFormat},
		{"a number in parentheses", npyHeader("|u1", "False", "(2)"), routing.ErrFormat},
		{"commas only", npyHeader("|u1", "False", "(,)"), routing.ErrFormat},
		{"two commas", npyHeader("|u1", "False", "(1,,2)"), routing.ErrFormat},
		{"a leading zero", npyHeader("|u1", "False", "(1, 1, 02)"), routing.ErrFormat},
		{"a fraction", npyHeader("|u1", "False", "(1, 1, 2.0)"), routing.ErrFormat},
		{"a sign", npyHeader("|u1", "False", "(1, 1, +2)"), routing.ErrFormat},
		{"a dimension beyond 63 bits", npyHeader("|u1", "False", "(9223372036854775808, 1, 2)"), routing.ErrFormat},
		{"a thousand dimensions", npyHeader("|u1", "False", "("+strings.Repeat("1,", 1000)+")"), routing.ErrFormat},
		{"rank 0", npyHeader("|u1", "False", "()"), auxerrors.ErrMismatch},
		{"rank 1", npyHeader("|u1", "False", "(2,)"), auxerrors.ErrMismatch},
		{"no layers", npyHeader("|u1", "False", "(1, 0, 2)"), auxerrors.ErrTooSmall},
		{"no top-k", npyHeader("|u1", "False", "(1, 2, 0)"), auxerrors.ErrTooSmall},
		{"no rows of a size that cannot be", npyHeader("|u1", "False", "(0, 4294967296, 4294967296)"), auxerrors.ErrTooLarge},
		{"a byte order that nobody states", npyHeader("=u2", "False", "(1, 1, 1)"), routing.ErrItemType},
		{"no byte order where one is needed", npyHeader("|u2", "False", "(1, 1, 1)"), routing.ErrItemType},
		{"two byte orders", npyHeader("|>u1", "False", "(1, 1, 2)"), routing.ErrItemType},
		{"no byte order at all", npyHeader("u1", "False", "(1, 1, 2)"), routing.ErrItemType},
		{"half precision", npyHeader("<f2", "False", "(1, 1, 1)"), routing.ErrItemType},
		{"complex items", npyHeader("<c8", "False", "(1, 1, 1)"), routing.ErrItemType},
		{"an empty descr", npyHeader("", "False", "(1, 1, 2)"), routing.ErrItemType},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := routing.DecodeNpy(npyFile(1, tc.header, 1, 2))
			require.ErrorIs(t, err, tc.reason)
			var refused *routing.DecodeError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, "npy", refused.Form)
		})
	}
	for _, header := range []string{npyHeader(strings.Repeat("x", 50_000), "False", "(1, 1, 2)"), "{'" + strings.Repeat("x", 50_000) + "':0}"} {
		_, err := routing.DecodeNpy(npyFile(1, header, 1, 2))
		require.Error(t, err)
		require.Less(t, len(err.Error()), 200, "an error does not repeat what it was sent")
	}
	_, err := routing.DecodeNpy(npyFile(1, fine, 1, 2))
	require.NoError(t, err)
}

func TestAFileThatEndsWithinItsOwnLengthIsRefused(t *testing.T) {
	for version, bytes := range map[byte]int{1: 2, 2: 4, 3: 4} {
		file := npyFile(version, npyHeader("|u1", "False", "(1, 1, 2)"), 1, 2)
		for n := range bytes {
			_, err := routing.DecodeNpy(file[:8+n])
			require.ErrorContains(t, err, "ends within the length of the header", "version %d, %d bytes of it", version, n)
		}
	}
}

func TestNoMinorVersionIsKnown(t *testing.T) {
	file := npyFile(1, npyHeader("|u1", "False", "(1, 1, 2)"), 1, 2)
	file[7] = 1
	_, err := routing.DecodeNpy(file)
	require.ErrorContains(t, err, "version 1.1")
}

func TestHostileHeadersAllocateNothingLarge(t *testing.T) {
	var files [][]byte
	for _, shape := range []string{
		"(1099511627776, 1048576, 8)", "(4294967296, 4294967296, 4294967296)", "(9223372036854775807, 1, 1)",
		"(2147483647, 1, 1)", "(0, 2147483647, 1)", "(1, 2147483647, 1)", "(1, 1, 2147483647)",
	} {
		for _, order := range []string{"False", "True"} {
			for _, descr := range []string{"|u1", ">u2", "<i4"} {
				files = append(files, npyFile(1, npyHeader(descr, order, shape), 1))
			}
		}
	}
	lying := npyFile(2, npyHeader("|u1", "False", "(1, 1, 1)"), 1)
	binary.LittleEndian.PutUint32(lying[8:], math.MaxUint32)
	files = append(files, lying, npyFile(2, strings.Repeat(" ", 1<<17)))

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, file := range files {
		_, err := routing.DecodeNpy(file)
		require.Error(t, err)
		_, err = routing.ReadNpy(bytes.NewReader(file), math.MaxInt64)
		require.Error(t, err)
	}
	for _, object := range []string{
		`{"shape":[1099511627776,1048576,8],"dtype":"uint8","start":0,"data":""}`,
		`{"shape":[9223372036854775807,9223372036854775807,9223372036854775807],"dtype":"int32","start":0,"data":"AAAA"}`,
		`{"shape":[2147483647,1,1],"dtype":"uint8","start":0,"data":"AAAA"}`,
	} {
		_, err := routing.DecodeField([]byte(object))
		require.Error(t, err)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), "bytes allocated for %d files", len(files))
}

func TestAReaderIsReadUpToTheLimit(t *testing.T) {
	rows := sample(t, profile(t, 3, 2, 64), 0, 10, 0)
	file := encode(t, rows, routing.FormatNpy)
	a, err := routing.ReadNpy(iotest.OneByteReader(bytes.NewReader(file)), int64(len(file)))
	require.NoError(t, err)
	require.Equal(t, rows.Data, a.Data)

	for _, limit := range []int64{int64(len(file)) - 1, 0, -5} {
		_, err = routing.ReadNpy(bytes.NewReader(file), limit)
		require.ErrorIs(t, err, auxerrors.ErrTooLarge)
	}
	broken := errors.New("connection lost")
	_, err = routing.ReadNpy(io.MultiReader(bytes.NewReader(file[:50]), iotest.ErrReader(broken)), 1<<20)
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "after 50 bytes")
}

func TestBase64IsOfTheStandardKindAndNoOther(t *testing.T) {
	text := string(encode(t, sample(t, profile(t, 3, 2, 64), 0, 1, 0), routing.FormatNpyBase64))
	require.True(t, strings.HasSuffix(text, "=")) // 134 bytes
	_, err := routing.DecodeNpyBase64([]byte(text))
	require.NoError(t, err)
	for name, damaged := range map[string]string{
		"a line break":            text[:76] + "\n" + text[76:],
		"four line breaks":        text[:76] + "\n\n\r\n" + text[76:],
		"a line break at the end": text + "\n",
		"no padding":              strings.TrimRight(text, "="),
		"more padding":            text + "=",
		"a group more":            text + "AAAA",
		"a blank":                 " " + text,
		"another alphabet":        strings.Replace(text, "TVBZ", "TV-Z", 1),
		"stray bits":              text[:len(text)-2] + "d=",
		"nothing":                 "",
	} {
		_, err := routing.DecodeNpyBase64([]byte(damaged))
		var refused *routing.DecodeError
		require.ErrorAs(t, err, &refused, name)
	}
}

func TestNumPyReadsWhatIsWritten(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import numpy").Run()
	}
	if err != nil {
		t.Skipf("LOUD: NumPy did not judge the files that this package writes, because there is no python3 with NumPy: %v", err)
	}
	const script = `
import io, sys, numpy
a = numpy.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False)
b = io.BytesIO()
numpy.save(b, a)
print(a.dtype.str, a.shape, a.tobytes().hex(), b.getvalue().hex())`
	for _, experts := range []int{128, 512} {
		for _, n := range []int{0, 7} {
			rows := sample(t, profile(t, 48, 8, experts), 0, n, 0)
			file := encode(t, rows, routing.FormatNpy)
			command := exec.Command(python, "-c", script)
			command.Stdin = bytes.NewReader(file)
			out, err := command.Output()
			require.NoError(t, err)
			want := fmt.Sprintf("%s (%d, 48, 8) %x %x\n", rows.Profile.DType().Descr(), n, rows.Data, file)
			require.Equal(t, want, string(out))
		}
	}
}
