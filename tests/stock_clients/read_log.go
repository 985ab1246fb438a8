// Reads a tiled log with golang.org/x/mod/sumdb, unmodified: the checkpoint under its verifier key, every entry under its root,
// and that it continues an older checkpoint. Usage: read_log DIRECTORY VERIFIER_KEY
// [OLD_CHECKPOINT], the directory a copy of the files below /log; it prints the number of leaves.
package main

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	height = 8
	width  = 1 << height
)

// reader reads tiles for the hash reader of tlog, which verifies them against the root before they are used.
type reader struct{ directory string }

func (reader) Height() int { return height }

func (reader) SaveTiles([]tlog.Tile, [][]byte) {}

func (r reader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	found := make([][]byte, len(tiles))
	for i, tile := range tiles {
		// tlog-tiles leaves out the height, which is always 8.
		found[i] = read(r.directory, strings.Replace(tile.Path(), "tile/8/", "tile/", 1))
	}
	return found, nil
}

func main() {
	directory := os.Args[1]
	tree := opened(string(read(directory, "checkpoint")), os.Args[2])
	hashes := tlog.TileHashReader(tree, reader{directory})
	for first := int64(0); first < tree.N; first += width {
		tile := tlog.Tile{H: height, L: 0, N: first / width, W: int(min(tree.N-first, width))}
		bundle := read(directory, strings.Replace(tile.Path(), "tile/8/0/", "tile/entries/", 1))
		for index := first; index < first+int64(tile.W); index++ {
			size := binary.BigEndian.Uint16(bundle)
			proof := must(tlog.ProveRecord(tree.N, index, hashes))
			must(0, tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash(bundle[2:2+size])))
			bundle = bundle[2+size:]
		}
		if len(bundle) > 0 {
			must(0, fmt.Errorf("%d bytes behind the entries", len(bundle)))
		}
	}
	if len(os.Args) > 3 {
		old := opened(os.Args[3], os.Args[2])
		proof := must(tlog.ProveTree(tree.N, old.N, hashes))
		must(0, tlog.CheckTree(proof, tree.N, tree.Hash, old.N, old.Hash))
	}
	fmt.Println(tree.N)
}

// opened is the tree of a checkpoint that the key signed.
func opened(checkpoint, key string) tlog.Tree {
	verifier := must(note.NewVerifier(key))
	signed := must(note.Open([]byte(checkpoint), note.VerifierList(verifier)))
	lines := strings.Split(signed.Text, "\n")
	if lines[0] != verifier.Name() {
		must(0, fmt.Errorf("a log of another origin: %s", lines[0]))
	}
	tree := tlog.Tree{N: must(strconv.ParseInt(lines[1], 10, 64))}
	copy(tree.Hash[:], must(base64.StdEncoding.DecodeString(lines[2])))
	return tree
}

func read(directory, path string) []byte {
	return must(os.ReadFile(filepath.Join(directory, path)))
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}
