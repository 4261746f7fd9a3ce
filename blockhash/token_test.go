package blockhash_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
)

func TestTokensAreReadFromText(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []uint32
	}{
		{"nothing", "", nil},
		{"white space alone", " \t\r\n", nil},
		{"one", "7", []uint32{7}},
		{"the least and the greatest", "0 4294967295", []uint32{0, math.MaxUint32}},
		{"commas", "1,2,3", []uint32{1, 2, 3}},
		{"commas and spaces", " 1 , 2,\n3 ", []uint32{1, 2, 3}},
		{"a comma at the end", "1,2,", []uint32{1, 2}},
		{"leading zeros", "007", []uint32{7}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := blockhash.AppendTokens([]uint32{9}, tc.text)
			require.NoError(t, err)
			assert.Equal(t, append([]uint32{9}, tc.want...), got)
		})
	}
}

func TestTextThatIsNoTokenIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		offset     int
		bad        string
		reason     error
	}{
		{"a word", "1 two 3", 2, "two", strconv.ErrSyntax},
		{"33 bits", "4294967296", 0, "4294967296", strconv.ErrRange},
		{"more than 64 bits", "1,99999999999999999999999", 2, "99999999999999999999999", strconv.ErrRange},
		{"a negative number", "1,2,-3", 4, "-3", strconv.ErrRange},
		{"a sign", "+3", 0, "+3", strconv.ErrSyntax},
		{"a sign alone", "-", 0, "-", strconv.ErrSyntax},
		{"a fraction", "1.5", 0, "1.5", strconv.ErrSyntax},
		{"a hexadecimal number", "0x10", 0, "0x10", strconv.ErrSyntax},
		{"two commas", "1,,2", 2, ",", strconv.ErrSyntax},
		{"a comma at the start", " ,1", 1, ",", strconv.ErrSyntax},
		{"bytes that are no text", "1 \xff", 2, "\xff", strconv.ErrSyntax},
		{"digits of another script", "٣", 0, "٣", strconv.ErrSyntax},
		{"a zero byte", "1\x002", 0, "1\x002", strconv.ErrSyntax},
		{"a long text, shortened", strings.Repeat("x", 100), 0, strings.Repeat("x", 40) + "...", strconv.ErrSyntax},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := blockhash.AppendTokens([]uint32{9}, tc.text)
			require.ErrorIs(t, err, blockhash.ErrToken)
			require.ErrorIs(t, err, tc.reason)
			var bad *blockhash.TokenError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, tc.offset, bad.Offset)
			assert.Equal(t, tc.bad, bad.Text)
			assert.Equal(t, []uint32{9}, got)
		})
	}
}

// The oracle splits and converts with the standard library.
func FuzzAppendTokens(f *testing.F) {
	for _, text := range []string{"1, 2 3", "4294967296", "-1", "1,,2", ",", "\xff", "1\v2\f3,"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := blockhash.AppendTokens(nil, text)
		var bad *blockhash.TokenError
		if err != nil {
			if !errors.As(err, &bad) || bad.Offset < 0 || bad.Offset >= len(text) || !errors.Is(err, blockhash.ErrToken) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		var want []uint32
		for _, field := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n\v\f", r) }) {
			n, err := strconv.ParseUint(field, 10, 32)
			if err != nil {
				t.Fatalf("%q was read as %d", text, got)
			}
			want = append(want, uint32(n))
		}
		assert.Equal(t, want, got)
	})
}
