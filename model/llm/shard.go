package llm

import "fmt"

// VocabularyPadding is the multiple to which engines pad the vocabulary before they split it over ranks.
const VocabularyPadding = 64

// PaddedVocabulary is the vocabulary rounded up to VocabularyPadding.
func (a Architecture) PaddedVocabulary() int {
	return (a.Vocabulary + VocabularyPadding - 1) / VocabularyPadding * VocabularyPadding
}

// CheckTensorParallel refuses a degree that engines refuse: heads and the padded vocabulary must divide by it, KV heads must divide
// by it or it by them, and so must the feed-forward widths.
func (a Architecture) CheckTensorParallel(tp int) error {
	if tp < 1 {
		return fmt.Errorf("tensor parallel degree %d: must be at least 1", tp)
	}
	refuse := func(what string, n int) error {
		return fmt.Errorf("tensor parallel degree %d: %s %d does not divide by it", tp, what, n)
	}
	if a.AttentionLayers() > 0 {
		if a.Heads%tp != 0 {
			return refuse("number of heads", a.Heads)
		}
		if a.MLA.KVRank == 0 && a.KVHeads%tp != 0 && tp%a.KVHeads != 0 {
			return fmt.Errorf("tensor parallel degree %d: neither divides the %d KV heads nor is a multiple of them", tp, a.KVHeads)
		}
	}
	if a.PaddedVocabulary()%tp != 0 {
		return refuse("padded vocabulary", a.PaddedVocabulary())
	}
	if a.DenseFFNLayers() > 0 && a.Intermediate%tp != 0 {
		return refuse("feed-forward width", a.Intermediate)
	}
	if a.MoE.Experts > 0 && a.MoE.ExpertIntermediate%tp != 0 {
		return refuse("expert width", a.MoE.ExpertIntermediate)
	}
	return nil
}

// TensorParallelDegrees lists the degrees up to limit that CheckTensorParallel accepts, in order.
func (a Architecture) TensorParallelDegrees(limit int) []int {
	var degrees []int
	for tp := 1; tp <= limit; tp++ {
		if a.CheckTensorParallel(tp) == nil {
			degrees = append(degrees, tp)
		}
	}
	return degrees
}

// Split is how a replica divides a model over chips. Zero degrees count as 1.
type Split struct {
	Tensor   int `json:"tensor_parallel"`
	Pipeline int `json:"pipeline_parallel"`
	Expert   int `json:"expert_parallel"` // ranks over which whole experts are spread; 1: experts are sharded by Tensor
	Data     int `json:"data_parallel"`   // attention replicas that share the experts
}

// Normal replaces zero degrees by 1.
func (s Split) Normal() Split {
	return Split{max(1, s.Tensor), max(1, s.Pipeline), max(1, s.Expert), max(1, s.Data)}
}

// Chips is the number of chips of the replica. Expert parallelism lies inside the others and adds none.
func (s Split) Chips() int {
	s = s.Normal()
	return s.Tensor * s.Pipeline * s.Data
}

// RankWeightBytes is what the heaviest rank holds: its share of the sharded matrices, all of the replicated ones (norms, routers,
// latent down-projections, key and value heads beyond their number), the vocabulary padded, and in a pipeline the fullest stage,
// the first with the embedding or the last with the head.
func (a Architecture) RankWeightBytes(p Precision, s Split) float64 {
	s = s.Normal()
	n, tp := a.Parameters(), float64(s.Tensor)
	plain := p.PlainType().Bytes()
	vocabulary := float64(a.PaddedVocabulary()) * float64(a.Hidden) * plain / tp
	sharded, replicated := a.attentionSplit()
	attention := sharded/tp + replicated
	if a.MLA.KVRank == 0 && s.Tensor > a.KVHeads && a.KVHeads > 0 {
		one := 2 * float64(a.Hidden) * float64(a.HeadDim) // one key and one value head
		attention += one - one*float64(a.KVHeads)/tp
	}
	experts := n.Experts / tp
	if s.Expert > 1 {
		experts = n.Experts / float64(s.Expert)
	}
	layers := attention*float64(a.AttentionLayers())*p.AttentionType().Bytes() +
		n.Linear/tp*p.AttentionType().Bytes() +
		(n.DenseFFN+n.SharedExperts)/tp*p.DenseType().Bytes() +
		experts*p.Weights.Bytes() +
		(n.Router+n.Norms)*plain
	stage := layers * float64((a.Layers+s.Pipeline-1)/s.Pipeline) / float64(a.Layers)
	ends := vocabulary + float64(a.PositionRows)*float64(a.Hidden)*plain/tp
	if s.Pipeline == 1 && !a.TiedEmbeddings {
		ends += vocabulary
	}
	return stage + ends + n.Extra*plain/tp
}
