package detect

var generic = detector{rules: []rule{}}
