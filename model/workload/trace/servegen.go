package trace

func openServeGen(r *Reader, path string) (*Reader, error) {
	return nil, &Error{File: path, Problem: "ServeGen folders are not read yet"}
}
