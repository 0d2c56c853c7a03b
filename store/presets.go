package store

import (
	"context"
	"encoding/json"
	"fmt"

	"signalbox/session"
)

// Presets lists the owner's presets by name.
func (s *Store) Presets(ctx context.Context) (presets []session.Preset, err error) {
	err = s.each(ctx, func(row scanner) error {
		var p session.Preset
		var extra string
		if err := row.Scan(&p.Name, &p.Engine, &extra); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(extra), &p.Extra); err != nil {
			return err
		}
		presets = append(presets, p)
		return nil
	}, `SELECT name, engine, extra FROM presets ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list presets: %w", err)
	}
	return presets, nil
}

// Preset returns one of them. It returns session.ErrNotFound if there is none of
// this name.
func (s *Store) Preset(ctx context.Context, name string) (session.Preset, error) {
	presets, err := s.Presets(ctx)
	if err != nil {
		return session.Preset{}, err
	}
	for _, p := range presets {
		if p.Name == name {
			return p, nil
		}
	}
	return session.Preset{}, fmt.Errorf("preset %s: %w", name, session.ErrNotFound)
}

// SavePreset keeps a preset, in place of the one of its name. Sessions that began
// with that one keep what they began with.
func (s *Store) SavePreset(ctx context.Context, p session.Preset) error {
	if err := p.Check(); err != nil {
		return err
	}
	extra, err := json.Marshal(p.Extra)
	if err != nil {
		return fmt.Errorf("write preset %s: %w", p.Name, err)
	}
	err = s.change(ctx, len(extra), func(b *batch) error {
		_, err := b.exec(`INSERT INTO presets (name, engine, extra) VALUES (?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET engine = excluded.engine, extra = excluded.extra`, p.Name, string(p.Engine), string(extra))
		return err
	})
	if err != nil {
		return fmt.Errorf("save preset %s: %w", p.Name, err)
	}
	return nil
}

// DeletePreset takes a preset away; one that is not there is away already.
func (s *Store) DeletePreset(ctx context.Context, name string) error {
	err := s.change(ctx, 0, func(b *batch) error {
		_, err := b.exec(`DELETE FROM presets WHERE name = ?`, name)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete preset %s: %w", name, err)
	}
	return nil
}
