package sim

// String says the outcome in a word.
func (o Outcome) String() string {
	switch o {
	case Finished:
		return "finished"
	case Rejected:
		return "rejected"
	case TimedOut:
		return "timed-out"
	}
	return "unfinished"
}
