// Command generate writes licences.txt: the licences of every module whose code is
// in the console. It is run with go generate ./web/licences after a dependency changes.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate licences:", err)
		os.Exit(1)
	}
}

type module struct{ Path, Version, Dir string }

func run() error {
	modules, err := linked()
	if err != nil {
		return err
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("find Go: %w", err)
	}
	modules = append(modules, module{Path: "Go", Dir: strings.TrimSpace(string(goroot))}, module{Path: "idiomorph", Version: "0.8.0", Dir: "../../static"})
	var out bytes.Buffer
	for _, m := range modules {
		text, err := licence(m)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s\n%s\n%s\n%s\f\n", m.Path, m.Version, kind(text), strings.TrimSpace(text))
	}
	return os.WriteFile("licences.txt", out.Bytes(), 0o644)
}

// linked are the modules of the packages that the console is built of.
func linked() ([]module, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=Module", "signalbox/cmd/console")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	byPath := map[string]module{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the list of packages: %w", err)
		}
		if p.Module != nil && !p.Module.Main {
			byPath[p.Module.Path] = module{p.Module.Path, p.Module.Version, p.Module.Dir}
		}
	}
	var modules []module
	for _, m := range byPath {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return modules, nil
}

// licence is the text of a module's licence, of all of them where it has several.
func licence(m module) (string, error) {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", m.Path, err)
	}
	var texts []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		of := strings.HasPrefix(name, "LICEN") || strings.HasPrefix(name, "COPYING") || name == "NOTICE" || name == strings.ToUpper(m.Path)+".LICENSE"
		if e.IsDir() || !of || strings.HasSuffix(name, ".GO") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return "", fmt.Errorf("read the licence of %s: %w", m.Path, err)
		}
		texts = append(texts, strings.TrimSpace(string(text)))
	}
	if len(texts) == 0 {
		return "", fmt.Errorf("%s has no licence that could be found in %s", m.Path, m.Dir)
	}
	return strings.Join(texts, "\n\n"), nil
}

// kind names a licence by its own words.
func kind(text string) string {
	flat := strings.Join(strings.Fields(text), " ")
	var kinds []string
	for _, k := range []struct{ name, words string }{
		{"Apache-2.0", "Apache License Version 2.0"},
		{"MIT", "Permission is hereby granted, free of charge"},
		{"BSD-3-Clause", "Neither the name of"},
		{"MPL-2.0", "Mozilla Public License Version 2.0"},
		{"ISC", "and distribute this software for any purpose with or without fee is hereby granted, provided that"},
		{"ISC", "and/or distribute this software for any purpose with or without fee is hereby granted, provided that"},
		{"0BSD", "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted. THE SOFTWARE"},
	} {
		if strings.Contains(flat, k.words) {
			kinds = append(kinds, k.name)
		}
	}
	if len(kinds) == 0 && strings.Contains(flat, "Redistributions of source code must retain") {
		kinds = []string{"BSD-2-Clause"}
	}
	if len(kinds) == 0 {
		return "see its text"
	}
	return strings.Join(kinds, ", ")
}
