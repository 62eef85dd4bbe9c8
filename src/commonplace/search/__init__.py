"""From a question to ranked hits: query, candidates, fusion, ranking, disclosure."""
