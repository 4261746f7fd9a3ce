package main

import (
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/routing/model"
)

// rowsFlags say which rows are meant: of a profile, or of a known model.
type rowsFlags struct{ profile, model string }

// resolve is the profile, and the model if one was named. With neither of the two
// flags it is the given profile.
func (f rowsFlags) resolve(otherwise string) (routing.Profile, *model.Model, error) {
	if f.profile != "" && f.model != "" {
		return routing.Profile{}, nil, usagef("--profile and --model both say what the rows are: give one")
	}
	if f.model != "" {
		known, err := model.Find(f.model)
		if err != nil {
			return routing.Profile{}, nil, usageError{err}
		}
		profile, err := known.Profile(false)
		return profile, &known, err
	}
	if f.profile != "" {
		otherwise = f.profile
	}
	profile, err := routing.ParseProfile(otherwise)
	if err != nil {
		return profile, nil, usageError{err}
	}
	return profile, nil, nil
}
