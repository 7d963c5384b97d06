package disk

// maxVetted bounds how many parts of a segment are told apart.
const maxVetted = 64

// vetted are the parts of a segment that have been verified as they came out of
// the page cache. As long as their pages stay there they need not be read again
// to be sent. Each part is whole batches; they are in order and apart.
type vetted []vettedPart

type vettedPart struct {
	from, to int64 // positions of the batches
}

// add adds a part that has been verified.
func (v *vetted) add(from, to int64) {
	if from >= to {
		return
	}
	parts := *v
	i := 0
	for i < len(parts) && parts[i].to < from {
		i++
	}
	j := i
	for j < len(parts) && parts[j].from <= to {
		from, to = min(from, parts[j].from), max(to, parts[j].to)
		j++
	}
	if i < j {
		parts[i] = vettedPart{from, to}
		*v = append(parts[:i+1], parts[j:]...)
		return
	}
	parts = append(parts, vettedPart{})
	copy(parts[i+1:], parts[i:])
	parts[i] = vettedPart{from, to}
	if len(parts) > maxVetted {
		parts = parts.withoutShortest()
	}
	*v = parts
}

// from returns how far the part reaches that pos lies in; pos if it lies in none.
func (v vetted) from(pos int64) int64 {
	for _, p := range v {
		if p.from <= pos && pos < p.to {
			return p.to
		}
	}
	return pos
}

// cut forgets the parts that end behind pos, whole: where batches begin within
// them is not known.
func (v *vetted) cut(pos int64) {
	for i, p := range *v {
		if p.to > pos {
			*v = (*v)[:i]
			return
		}
	}
}

func (v vetted) withoutShortest() vetted {
	shortest := 0
	for i, p := range v {
		if p.to-p.from < v[shortest].to-v[shortest].from {
			shortest = i
		}
	}
	return append(v[:shortest], v[shortest+1:]...)
}
