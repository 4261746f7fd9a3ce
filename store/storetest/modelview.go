package storetest

import (
	"fmt"
	"io"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// openModelView is a view of the model as clients see it.
type openModelView struct {
	model *Model
	view  *modelView
}

// begin begins a use of the view, which holds the blocks until it ends.
func (v *openModelView) begin(op string) error {
	if v.view.closed {
		return v.model.fail(op, auxerrors.ErrClosed, -1)
	}
	v.view.uses++
	return nil
}

// end ends a use. The last one of a closed view gives the blocks back.
func (v *openModelView) end() {
	v.view.uses--
	if v.view.closed && v.view.uses == 0 {
		v.model.closeView(v.view)
	}
}

func (v *openModelView) Len() int {
	if v.view.closed {
		return 0
	}
	return len(v.view.blocks)
}

func (v *openModelView) Block(i int) ([]byte, error) {
	switch {
	case v.view.closed:
		return nil, v.model.fail("view block", auxerrors.ErrClosed, -1)
	case i < 0 || i >= len(v.view.blocks):
		return nil, v.model.fail("view block", auxerrors.ErrOutOfRange, -1)
	}
	return v.view.blocks[i].rows, nil
}

// WriteTo writes all rows in one piece, so that a Close in between comes too late to
// cut them short.
func (v *openModelView) WriteTo(w io.Writer) (int64, error) {
	if err := v.begin("view write"); err != nil {
		return 0, err
	}
	defer v.end()
	n, err := w.Write(rowsOf(v.view.blocks))
	if err != nil {
		err = fmt.Errorf("model: view: %w", err)
	}
	return int64(n), err
}

// Close ends the view for everybody, without waiting for those who use it.
func (v *openModelView) Close() error {
	if v.view.closed {
		return v.model.fail("view close", auxerrors.ErrClosed, -1)
	}
	v.view.closed = true
	if v.view.uses == 0 {
		v.model.closeView(v.view)
	}
	return nil
}
