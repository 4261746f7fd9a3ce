package routing

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// PromptStartField is the name of the request parameter that [PromptStart] is.
const PromptStartField = "routed_experts_prompt_start"

// badRequest is the status of HTTP for a request that the client must correct.
const badRequest = 400

// RequestError is a value in a request that the client must correct. It concerns
// that request alone.
type RequestError struct {
	Field  string // name of the parameter
	Value  string // as it came, shortened if it is long
	Want   string // what is allowed
	Reason error  // [auxerrors.ErrOutOfRange] or [auxerrors.ErrMismatch]
}

// Error names the parameter, its value and what is allowed.
func (e *RequestError) Error() string {
	return fmt.Sprintf("auxoutput: %s = %s: %v: want %s", e.Field, e.Value, e.Reason, e.Want)
}

// Unwrap gives the reason to [errors.Is].
func (e *RequestError) Unwrap() error { return e.Reason }

// StatusCode is 400, the HTTP status of a bad request.
func (e *RequestError) StatusCode() int { return badRequest }

// PromptStart is the request parameter routed_experts_prompt_start: rows of
// positions below it are left out of the answer, because the client has them from
// an earlier turn. It is the decimal text of a whole number, of any size; empty is
// 0. [PromptStart.Resolve] judges it once the prompt is tokenised.
//
// In JSON it is a number, or null, which is the same as leaving it out:
//
//	type Request struct {
//		PromptStart routing.PromptStart `json:"routed_experts_prompt_start,omitempty"`
//	}
type PromptStart string

// UnmarshalJSON takes any whole number. Anything else, also a number with a
// fraction or an exponent, is a [RequestError].
func (s *PromptStart) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text == "null" {
		return nil
	}
	if !isWholeNumber(text) {
		return promptStartError(text, "a whole number", auxerrors.ErrMismatch)
	}
	*s = PromptStart(text)
	return nil
}

// MarshalJSON gives the number.
func (s PromptStart) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("0"), nil
	}
	if !isWholeNumber(string(s)) {
		return nil, promptStartError(string(s), "a whole number", auxerrors.ErrMismatch)
	}
	return []byte(s), nil
}

// Resolve is the position of the first row of the answer to a prompt of so many
// tokens. It is a [RequestError] unless 0 <= start <= promptTokens. A start equal
// to the length of the prompt asks for the rows of generated tokens only.
func (s PromptStart) Resolve(promptTokens int) (int, error) {
	if s == "" {
		return 0, nil
	}
	start, err := strconv.ParseInt(string(s), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, promptStartError(string(s), "a whole number", auxerrors.ErrMismatch)
	}
	if err != nil || start < 0 || start > int64(promptTokens) {
		want := fmt.Sprintf("0 <= start <= %d, the number of prompt tokens", promptTokens)
		return 0, promptStartError(string(s), want, auxerrors.ErrOutOfRange)
	}
	return int(start), nil
}

func promptStartError(value, want string, reason error) error {
	const enough = 40
	if len(value) > enough {
		value = fmt.Sprintf("%s... (%d characters)", value[:enough], len(value))
	}
	return &RequestError{Field: PromptStartField, Value: value, Want: want, Reason: reason}
}

// isWholeNumber says whether text is a JSON number without fraction and exponent.
func isWholeNumber(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c != '-' || i > 0) {
			return false
		}
	}
	return json.Valid([]byte(text))
}
