package routing

import (
	"encoding/binary"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// fewSlots is the top-k up to which comparing pairs beats marking ids.
const fewSlots = 16

// marks is a set of ids.
type marks [MaxExperts / 64]uint64

// firstWrong looks through a row id by id.
func (k *Checker) firstWrong(position int, row []byte) error {
	topK, itemBytes := k.profile.TopK, k.profile.ItemBytes()
	var seen *marks
	if topK > fewSlots {
		seen = new(marks) // on the stack
	}
	for layer := range k.profile.Layers {
		ids := row[layer*topK*itemBytes : (layer+1)*topK*itemBytes]
		slot, reason := topK, error(nil)
		if k.checks.Range {
			if at := firstBeyond(ids, itemBytes, k.profile.Experts); at < topK {
				slot, reason = at, auxerrors.ErrOutOfRange
			}
		}
		if k.checks.Distinct && k.counts(layer) {
			if at := firstRepeat(ids, itemBytes, seen); at < slot {
				slot, reason = at, ErrDuplicate
			}
		}
		if reason != nil {
			return &IDError{
				Reason: reason, Position: position, Layer: layer, Slot: slot,
				ID: int64(itemAt(ids, itemBytes, slot)), Experts: k.profile.Experts,
			}
		}
	}
	return nil
}

func itemAt(ids []byte, itemBytes, slot int) int {
	if itemBytes == 1 {
		return int(ids[slot])
	}
	return int(binary.LittleEndian.Uint16(ids[2*slot:]))
}

// firstBeyond is the first slot of one top-k whose id is no expert, or the number of
// slots.
func firstBeyond(ids []byte, itemBytes, experts int) int {
	if itemBytes == 1 {
		for slot, id := range ids {
			if int(id) >= experts {
				return slot
			}
		}
		return len(ids)
	}
	for slot := range len(ids) / 2 {
		if int(binary.LittleEndian.Uint16(ids[2*slot:])) >= experts {
			return slot
		}
	}
	return len(ids) / 2
}

// firstRepeat is the first slot of one top-k whose id an earlier slot has, or the
// number of slots. seen is an empty set, and is left empty; nil compares pairs.
func firstRepeat(ids []byte, itemBytes int, seen *marks) int {
	switch {
	case seen != nil:
		return firstMarked(ids, itemBytes, seen)
	case itemBytes == 1:
		for slot := 1; slot < len(ids); slot++ {
			for _, id := range ids[:slot] {
				if id == ids[slot] {
					return slot
				}
			}
		}
		return len(ids)
	}
	for at := 2; at < len(ids); at += 2 {
		for j := 0; j < at; j += 2 {
			if ids[j] == ids[at] && ids[j+1] == ids[at+1] {
				return at / 2
			}
		}
	}
	return len(ids) / 2
}

// firstMarked is firstRepeat without comparing every pair.
func firstMarked(ids []byte, itemBytes int, seen *marks) int {
	slots := len(ids) / itemBytes
	first := slots
	for slot := range slots {
		id := itemAt(ids, itemBytes, slot)
		if seen[id/64]&(1<<(id%64)) != 0 {
			first = slot
			break
		}
		seen[id/64] |= 1 << (id % 64)
	}
	for slot := range first {
		id := itemAt(ids, itemBytes, slot)
		seen[id/64] &^= 1 << (id % 64)
	}
	return first
}
