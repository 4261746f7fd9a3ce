package routing_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

type choice struct {
	Text          string         `json:"text"`
	RoutedExperts *routing.Field `json:"routed_experts,omitempty"`
}

func TestAFieldGoesThroughEncodingJSONAndBack(t *testing.T) {
	for _, experts := range []int{256, 512} {
		for _, n := range []int{0, 1, 50} {
			rows := sample(t, profile(t, 4, 3, experts), 7, n, 0)
			for _, field := range []*routing.Field{routing.NpyField(rows), routing.ObjectField(rows)} {
				data, err := json.Marshal(choice{Text: "a", RoutedExperts: field})
				require.NoError(t, err)
				require.Contains(t, string(data), string(encode(t, rows, field.Form)), "a field is what the encoder writes")

				var again choice
				require.NoError(t, json.Unmarshal(data, &again))
				require.Equal(t, field.Form, again.RoutedExperts.Form)
				got, err := again.RoutedExperts.Rows(rows.Profile, 7)
				require.NoError(t, err)
				require.Equal(t, rows.Data, append([]byte{}, got.Data...))
				require.Equal(t, 7, got.Start)
			}
		}
	}
}

func TestAFieldThatIsNotThereIsLeftOut(t *testing.T) {
	data, err := json.Marshal(choice{Text: "a"})
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"a"}`, string(data))
	var got choice
	for _, data := range []string{`{}`, `{"routed_experts":null}`} {
		require.NoError(t, json.Unmarshal([]byte(data), &got))
		require.Nil(t, got.RoutedExperts)
	}
	var value struct {
		RoutedExperts routing.Field `json:"routed_experts"`
	}
	require.NoError(t, json.Unmarshal([]byte(`{"routed_experts":null}`), &value))
	_, err = value.RoutedExperts.Rows(profile(t, 1, 1, 1), 0)
	require.Error(t, err, "nothing is not an answer of no rows")
	_, err = json.Marshal(value)
	require.Error(t, err)
}

func TestAnswersThatEscapeWhatNeedsNoEscapeAreRead(t *testing.T) {
	rows := sample(t, profile(t, 3, 2, 256), 0, 20, 1)
	text := string(encode(t, rows, routing.FormatNpyJSON))
	escaped := strings.NewReplacer("/", `\/`, "+", `\u002b`, "=", `\u003d`).Replace(text)
	require.NotEqual(t, text, escaped)
	field, err := routing.DecodeField([]byte(" " + escaped + "\n"))
	require.NoError(t, err)
	require.Equal(t, rows.Data, field.Array.Data)
}

func TestMembersOfAnObjectMayComeInAnyOrder(t *testing.T) {
	field, err := routing.DecodeField([]byte("{ \"data\" : \"AQID\",\n\"start\":4, \"dtype\":\"uint8\", \"shape\": [1, 1, 3] }"))
	require.NoError(t, err)
	require.Equal(t, 4, field.Start)
	require.Equal(t, routing.Array{Shape: [3]int{1, 1, 3}, DType: routing.Uint8, Data: []byte{1, 2, 3}}, field.Array)
}

func TestValuesThatAreNoFieldAreRefused(t *testing.T) {
	object := func(shape, dtype, start, data string) string {
		return fmt.Sprintf(`{"shape":%s,"dtype":%s,"start":%s,"data":%s}`, shape, dtype, start, data)
	}
	const shape, dtype, data = `[1,1,3]`, `"uint8"`, `"AQID"`
	for _, tc := range []struct {
		name, value string
		reason      error
		says        string
	}{
		{"nothing", "", routing.ErrFormat, "nothing"},
		{"blanks", " \n", routing.ErrFormat, "nothing"},
		{"a number", "7", routing.ErrFormat, "base64 string or an object"},
		{"null", "null", routing.ErrFormat, "base64 string or an object"},
		{"nested lists", "[[[1,2,3]]]", routing.ErrFormat, "never nested lists"},
		{"an empty string", `""`, routing.ErrFormat, "no .npy file"},
		{"raw ids in base64", `"` + base64.StdEncoding.EncodeToString(make([]byte, 99)) + `"`, routing.ErrFormat, "99 bytes that are no .npy file"},
		{"no base64", `"hello"`, routing.ErrFormat, "base64"},
		{"half a string", `"`, routing.ErrFormat, "not a string"},
		{"a string without end", `"AAAA`, routing.ErrFormat, "not a string"},
		{"an escape that is none", `"\q"`, routing.ErrFormat, "escape"},
		{"half an object", `{"shape":[1,1,3]`, routing.ErrFormat, ""},
		{"an empty object", `{}`, routing.ErrFormat, "expected a value"},
		{"no shape member", `{"start":0,"dtype":"uint8","data":"AQID"}`, routing.ErrFormat, `without "shape"`},
		{"a comma at the end", `{"shape":[1,1,3],"dtype":"uint8","start":0,"data":"AQID",}`, routing.ErrFormat, "expected a value"},
		{"a leading zero", object(shape, dtype, "00", data), routing.ErrFormat, "start 00"},
		{"single quotes", `{'start':0}`, routing.ErrFormat, "known are"},
		{"an object within", `{"data":{"data":0}}`, routing.ErrFormat, ""},
		{"half a string within", `{"`, routing.ErrFormat, "expected a value"},
		{"a string that ends with an escape", `{"\"`, routing.ErrFormat, "expected a value"},
		{"a string without end within", `{"data":"\"}`, routing.ErrFormat, "expected a value"},
		{"no start", `{"shape":[1,1,3],"dtype":"uint8","data":"AQID"}`, routing.ErrFormat, `without "start"`},
		{"no data", `{"shape":[1,1,3],"dtype":"uint8","start":0}`, routing.ErrFormat, `without "data"`},
		{"a member twice", `{"start":0,"shape":[1,1,3],"dtype":"uint8","start":1,"data":"AQID"}`, routing.ErrFormat, `two members "start"`},
		{"a shape twice", `{"shape":[1,1,3],"start":0,"dtype":"uint8","shape":[1,3,1],"data":"AQID"}`, routing.ErrFormat, `two members "shape"`},
		{"the same shape twice", `{"shape":[1,1,3],"shape":[1,1,3],"start":0,"dtype":"uint8","data":"AQID"}`, routing.ErrFormat, `two members "shape"`},
		{"a type twice", `{"shape":[1,1,3],"start":0,"dtype":"uint8","data":"AQID","dtype":"int8"}`, routing.ErrFormat, `two members "dtype"`},
		{"data twice", `{"data":"","shape":[1,1,3],"start":0,"dtype":"uint8","data":"AQID"}`, routing.ErrFormat, `two members "data"`},
		{"a name in other words", `{"shape":[1,1,3],"sh\u0061pe":[1,3,1],"start":0,"dtype":"uint8","data":"AQID"}`, routing.ErrFormat, `known are`},
		{"an unknown member", `{"order":"F","shape":[1,1,3],"dtype":"uint8","start":0,"data":"AQID"}`, routing.ErrFormat, `member "order"`},
		{"names in other letters", `{"Shape":[1,1,3],"dtype":"uint8","start":0,"data":"AQID"}`, routing.ErrFormat, `member "Shape"`},
		{"something behind", object(shape, dtype, "0", data) + "x", routing.ErrFormat, "follows"},
		{"rank 2", object(`[1,3]`, dtype, "0", data), routing.ErrFormat, "three whole numbers"},
		{"rank 4", object(`[1,1,1,3]`, dtype, "0", data), routing.ErrFormat, "three whole numbers"},
		{"no shape", object(`null`, dtype, "0", data), routing.ErrFormat, "three whole numbers"},
		{"null for a dimension", object(`[null,1,3]`, dtype, "0", `""`), routing.ErrFormat, "three whole numbers"},
		{"true for a dimension", object(`[true,1,3]`, dtype, "0", data), routing.ErrFormat, "three whole numbers"},
		{"a negative dimension", object(`[-1,1,3]`, dtype, "0", data), routing.ErrFormat, "three whole numbers"},
		{"a fraction for a dimension", object(`[1.0,1,3]`, dtype, "0", data), routing.ErrFormat, "three whole numbers"},
		{"a dimension beyond 63 bits", object(`[9223372036854775808,1,3]`, dtype, "0", data), routing.ErrFormat, "three whole numbers"},
		{"int64", object(shape, `"int64"`, "0", data), routing.ErrItemType, "int64"},
		{"float32", object(shape, `"float32"`, "0", data), routing.ErrItemType, "float32"},
		{"a number for a type", object(shape, `8`, "0", data), routing.ErrFormat, "dtype"},
		{"a start below 0", object(shape, dtype, "-1", data), routing.ErrFormat, "start -1"},
		{"null for a start", object(shape, dtype, "null", data), routing.ErrFormat, "start null"},
		{"a start beyond 64 bits", object(shape, dtype, "18446744073709551616", data), routing.ErrFormat, "start"},
		{"a byte short", object(shape, dtype, "0", `"AQI="`), auxerrors.ErrMismatch, "2 bytes of data, expected 3"},
		{"a byte long", object(shape, dtype, "0", `"AQIDBA=="`), auxerrors.ErrMismatch, "4 bytes of data, expected 3"},
		{"a list for data", object(shape, dtype, "0", `[1,2,3]`), routing.ErrFormat, "not a string"},
		{"null for data", object(`[0,1,3]`, dtype, "0", `null`), routing.ErrFormat, "not a string"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := routing.DecodeField([]byte(tc.value))
			var refused *routing.DecodeError
			require.ErrorAs(t, err, &refused)
			require.ErrorIs(t, err, tc.reason)
			require.ErrorContains(t, err, tc.says)
			require.Less(t, len(err.Error()), 250)
		})
	}
}

func TestADecodingErrorReachesTheCallerOfEncodingJSON(t *testing.T) {
	got := choice{RoutedExperts: &routing.Field{Start: 9}}
	err := json.Unmarshal([]byte(`{"routed_experts":[[1]]}`), &got)
	var refused *routing.DecodeError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 9, got.RoutedExperts.Start, "a field that was not read is as it was")
}

func TestOnlyFormsOfJSONAreFields(t *testing.T) {
	field := routing.NpyField(sample(t, profile(t, 1, 1, 4), 0, 1, 0))
	field.Form = routing.FormatNpy
	_, err := json.Marshal(field)
	require.ErrorContains(t, err, "npy json or object json")
}

func ExampleField() {
	p, _ := routing.NewProfile(1, 2, 64)
	rows, _ := routing.NewRows(p, 3, []byte{10, 11, 20, 21})

	type Choice struct {
		RoutedExperts *routing.Field `json:"routed_experts,omitempty"`
	}
	answer, _ := json.Marshal(Choice{routing.ObjectField(rows)})
	fmt.Println(string(answer))

	var received Choice
	if err := json.Unmarshal(answer, &received); err != nil {
		fmt.Println(err)
		return
	}
	got, err := received.RoutedExperts.Rows(p, 3)
	fmt.Println(got.Data, err, got.CheckTokens(6, 0))
	// Output:
	// {"routed_experts":{"shape":[2,1,2],"dtype":"uint8","start":3,"data":"CgsUFQ=="}}
	// [10 11 20 21] <nil> <nil>
}
