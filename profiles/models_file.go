package profiles

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
	"scoville/model/llm"
)

// LoadModel is Model for a name, and for a path that ends in .json (a config.json of the Hugging Face hub) or .toml (one [[model]]
// entry, as scoville models import writes it) the model in that file.
func LoadModel(nameOrPath string) (llm.Architecture, llm.Precision, error) {
	switch strings.ToLower(filepath.Ext(nameOrPath)) {
	case ".json", ".toml":
		m, err := ReadModel(nameOrPath)
		return m.Architecture, m.Precision(), err
	}
	return Model(nameOrPath)
}

// ReadModel reads one model from a config.json or a profile. A config.json takes the name of its folder, unless that says nothing.
func ReadModel(path string) (ModelProfile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return ModelProfile{}, err
	}
	if strings.ToLower(filepath.Ext(path)) == ".toml" {
		some, err := DecodeModels(path, data)
		if err != nil {
			return ModelProfile{}, err
		}
		if len(some) != 1 {
			return ModelProfile{}, fmt.Errorf("%s: %d [[model]] entries, expected one", path, len(some))
		}
		return some[0], nil
	}
	a, p, err := llm.ParseHuggingFace(path, data)
	if err != nil {
		return ModelProfile{}, err
	}
	a.Name = configName(path)
	return ModelProfile{Architecture: a, Weights: p.Weights, Attention: p.Attention, Dense: p.Dense}, nil
}

// configName names a model after its file, or after its folder when the file is called config.json.
func configName(path string) string {
	base := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if base == "config" {
		if folder := filepath.Base(filepath.Dir(path)); folder != "." && folder != string(filepath.Separator) {
			base = folder
		}
	}
	return modelKey(base)
}

// EncodeModel writes a model as a profile that DecodeModels reads.
func EncodeModel(m ModelProfile) ([]byte, error) {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(modelFile{Model: []ModelProfile{m}}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
