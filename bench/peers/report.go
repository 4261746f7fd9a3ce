package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
)

// report is everything that was measured.
type report struct {
	Machine string  `json:"machine"`
	Matches []match `json:"matches"`
}

// write makes the files that were asked for.
func (r report) write(o options, stdout io.Writer) error {
	var table bytes.Buffer
	r.markdown(&table)
	if o.md == "" {
		if _, err := stdout.Write(table.Bytes()); err != nil {
			return err
		}
	} else if err := os.WriteFile(o.md, table.Bytes(), 0o644); err != nil {
		return err
	}
	if o.json != "" {
		figures, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(figures, '\n'), 0o644); err != nil {
			return err
		}
	}
	if o.svg == "" {
		return nil
	}
	var picture bytes.Buffer
	if err := r.picture(&picture); err != nil {
		return err
	}
	return os.WriteFile(o.svg, picture.Bytes(), 0o644)
}
