package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/auxoutput/auxoutput/bench/engine"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// badRequest is what a client has to correct.
type badRequest struct{ text string }

func (e badRequest) Error() string { return e.text }

func bad(format string, args ...any) error { return badRequest{fmt.Sprintf(format, args...)} }

// unknownModel is a request for a model that is not served, in vLLM's words.
type unknownModel string

func (e unknownModel) Error() string { return fmt.Sprintf("The model `%s` does not exist.", string(e)) }

// failure is the body of an error: vLLM's fields.
type failure struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`
}

// failureOf says who has to do something about an error: the client (4xx) or the
// server (5xx). A request that no empty store could hold is the client's. One whose
// rows were lost failed here, alone; its KV blocks are dropped, so that it is computed
// when it is sent again.
func failureOf(err error) failure {
	f := failure{Message: err.Error(), Type: "InternalServerError", Code: http.StatusInternalServerError}
	var (
		param *routing.RequestError
		model unknownModel
		body  badRequest
		large *http.MaxBytesError
		store *auxerrors.BlockObjectStoreError
	)
	switch {
	case errors.As(err, &model):
		f.Type, f.Code, f.Param = "NotFoundError", http.StatusNotFound, text("model")
	case errors.As(err, &param):
		f.Type, f.Code, f.Param = "BadRequestError", param.StatusCode(), text(param.Field)
	case errors.As(err, &large):
		f.Type, f.Code = "BadRequestError", http.StatusRequestEntityTooLarge
	case errors.As(err, &body), errors.Is(err, engine.ErrNoRoom), errors.Is(err, auxerrors.ErrCannotFit):
		f.Type, f.Code = "BadRequestError", http.StatusBadRequest
	case errors.As(err, &store), errors.Is(err, auxerrors.ErrAbsent):
		f.Type = "BlockObjectStoreError"
	case errors.Is(err, errStopped), errors.Is(err, engine.ErrAborted):
		f.Type, f.Code = "ServiceUnavailableError", http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		f.Type, f.Code = "GatewayTimeoutError", http.StatusGatewayTimeout
	}
	return f
}

// body is the failure as it is sent.
func (f failure) body() []byte {
	data, _ := json.Marshal(map[string]failure{"error": f}) // text and numbers always encode
	return data
}

// fail writes an error with the status that fits it.
func fail(w http.ResponseWriter, err error) {
	f := failureOf(err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Code)
	fmt.Fprintf(w, "%s\n", f.body())
}

func text(s string) *string { return &s }
