package pilot

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // an engine names its limit's zone, and the machine may know none

	"signalbox/session"
)

// waitMost is the longest wait that is believed: usage limits end within a week.
const waitMost = 8 * 24 * time.Hour

// limitMargin is added to an engine's reset time, which is rounded to the minute.
const limitMargin = time.Minute

var (
	limitWords  = regexp.MustCompile(`(?i)(usage|rate|hour|weekly|daily|session|your|message|request)[ -]?limit|quota|out of (credits|extra usage)|limit reached`)
	resetEpoch  = regexp.MustCompile(`\|(\d{10})\b`)
	resetSpan   = regexp.MustCompile(`(?i)\b(?:in|after)\s+(\d+\s*[a-z].*)`)
	spanPart    = regexp.MustCompile(`(?i)^(?:[\s,]|and\b)*(\d+)\s*([a-z]+)`)
	resetRFC    = regexp.MustCompile(`\b(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))`)
	resetAt     = regexp.MustCompile(`(?i)\b(?:at|resets|until)\s+(?:at\s+)?(?:([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?,? (?:at )?)?(\d{1,2})(?::(\d\d))?\s*([ap]m)?\b`)
	resetInZone = regexp.MustCompile(`\(([A-Za-z_]+/[A-Za-z_/+-]+|UTC)\)`)
)

// limitEnd is when the usage limit ends that ended a failed turn, as the engine's
// protocol says, else as its words do; zero if they speak of none, name no time, or
// name one that cannot be meant.
func limitEnd(t session.LastTurn, now time.Time) time.Time {
	end, ok := t.ResetsAt, !t.ResetsAt.IsZero()
	if !ok {
		end, ok = resetTime(t.Detail, now)
	}
	if !ok || !end.After(now) || end.Sub(now) > waitMost {
		return time.Time{}
	}
	return end.Add(limitMargin)
}

// resetTime finds the time that an engine's words name. The words are those of
// Codex ("try again at 10:23 AM", "in 1 hour 30 minutes", "at Dec 1st, 2026 9:00
// AM"), Claude Code ("resets 3pm (Europe/Berlin)", "reached|1764600000") and
// Gemini ("reset after 5h13m20s"). A time without a zone is this machine's.
func resetTime(words string, now time.Time) (time.Time, bool) {
	if !limitWords.MatchString(words) {
		return time.Time{}, false
	}
	if m := resetEpoch.FindStringSubmatch(words); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		return time.Unix(n, 0).UTC(), err == nil
	}
	if m := resetRFC.FindStringSubmatch(words); m != nil {
		at, err := time.Parse(time.RFC3339, m[1])
		return at.UTC(), err == nil
	}
	if m := resetSpan.FindStringSubmatch(words); m != nil {
		return spanEnd(m[1], now)
	}
	if m := resetAt.FindStringSubmatch(words); m != nil && (m[5] != "" || m[6] != "") {
		zone := now.Location()
		if zone == time.UTC {
			zone = time.Local
		}
		if z := resetInZone.FindStringSubmatch(words); z != nil {
			if named, err := time.LoadLocation(z[1]); err == nil {
				zone = named
			}
		}
		return clockEnd(m, now.In(zone))
	}
	return time.Time{}, false
}

// spanEnd reads a length of time, such as "1 hour 30 minutes" or "5h13m20s".
func spanEnd(words string, now time.Time) (time.Time, bool) {
	var total time.Duration
	for {
		m := spanPart.FindStringSubmatchIndex(words)
		if m == nil {
			break
		}
		n, err := strconv.Atoi(words[m[2]:m[3]])
		name := strings.ToLower(words[m[4]:m[5]])
		unit := units[strings.TrimSuffix(name, "s")]
		if err != nil || n > 100_000 || unit == 0 || name == "ms" {
			return time.Time{}, false
		}
		total += time.Duration(n) * unit
		words = words[m[1]:]
	}
	return now.Add(total), total > 0
}

// units by their names without a plural's s; a bare "s" loses its own.
var units = map[string]time.Duration{
	"d": 24 * time.Hour, "day": 24 * time.Hour, "h": time.Hour, "hr": time.Hour, "hour": time.Hour,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "": time.Second, "sec": time.Second, "second": time.Second,
}

// clockEnd is the next moment at which the clock shows m's time, on m's day where
// it names one. now carries the zone.
func clockEnd(m []string, now time.Time) (time.Time, bool) {
	hour, _ := strconv.Atoi(m[4])
	minute, _ := strconv.Atoi("0" + m[5])
	switch strings.ToLower(m[6]) {
	case "am":
		hour %= 12
	case "pm":
		hour = hour%12 + 12
	}
	if hour > 23 || minute > 59 {
		return time.Time{}, false
	}
	year, month, day := now.Date()
	if m[1] != "" {
		named, err := time.Parse("Jan", m[1][:3])
		if err != nil {
			return time.Time{}, false
		}
		month = named.Month()
		day, _ = strconv.Atoi(m[2])
		if m[3] != "" {
			year, _ = strconv.Atoi(m[3])
		}
		at := time.Date(year, month, day, hour, minute, 0, 0, now.Location())
		if m[3] == "" && now.Sub(at) > 180*24*time.Hour {
			at = at.AddDate(1, 0, 0) // in January, said in December
		}
		return at.UTC(), at.Day() == day
	}
	at := time.Date(year, month, day, hour, minute, 0, 0, now.Location())
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at.UTC(), true
}
