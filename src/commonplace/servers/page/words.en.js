// Every text of the page, in English.

export const EN = {
  // views and the frame
  view_search: "Search", view_notes: "Notes", view_timeline: "Timeline", view_memory: "Memory", view_feed: "Feed", view_review: "Review",
  view_sessions: "Sessions", view_charts: "Charts", view_health: "Health", views: "Views", skip: "Skip to content", keys: "Keys",
  theme_system: "System colours", theme_light: "Light", theme_dark: "Dark", close: "Close", cancel: "Cancel", again: "Try again", working: "Working…",
  locked: "This browser is not let in", locked_how: "Run this command; it opens this page with a code that works once. If it prints an address alone, paste that into the address bar. What lets a browser in ends with the server.",
  failed: "That did not work", unreachable: "The server does not answer. Start it again with: commonplace web",
  key_next: "Next, previous", key_open: "Open", key_factors: "Show why each hit was found", key_send: "Save or send", key_leave: "Leave, go back", key_forget_any: "Forget a person, a session, words",
  // search
  search_hint: "Search your memory…", all_collections: "All collections", collection: "Collection", struck_too: "Struck text too", results: "Results",
  found: "{n} passages, {tokens} tokens instead of {all} for all notes.", nothing: "Nothing in your notes answers this.", weak_answer: "none clearly answers",
  hits_said: "{n} results", also: "Also in", why_found: "Why · {score}", held_until: "held until {day}",
  teach_title: "Ask in your own words", teach: "What you type is searched at once, in English and Chinese, by words and by meaning.",
  teach_1: "what did we decide about the database", teach_2: "when is the next release", teach_3: "allergies", teach_4: "上周的会议",
  teach_keys: "Go through the hits with j and k, open one with Enter. Correct what is wrong with c. All keys: ?",
  factor_meaning: "meaning", factor_words: "words", factor_length: "length", factor_importance: "importance", factor_trigger: "trigger", factor_cap: "limit", factor_recency: "recency", factor_exact: "exact words",
  label_struck: "struck", label_superseded: "superseded", label_expired: "expired", label_tentative: "tentative", label_untrusted: "untrusted", label_weak: "weak",
  // a note
  read_only: "Read only here", shown_as: "Shown as", mode_read: "Read", mode_source: "Source", mode_both: "Both", edit: "Edit", statement: "Statement", copy_place: "Copy place", copied: "Copied: {place}",
  changed_elsewhere: "This note was changed.", reload: "Show the change", note_gone: "This note is gone.", empty_note: "This note is empty.",
  earlier_lines: "Show what stands above", later_lines: "Show what stands below", front_matter: "Front matter", code: "Code", table: "Table", image: "Image: {name}", done: "done", open: "open",
  more_characters: "({n} more characters)", more_lines: "{n} more lines", tag_by: "by", tag_agent: "agent", tag_session: "session", tag_at: "at", tag_since: "since", tag_until: "until", tag_from: "from", tag_to: "now at",
  tag_importance: "importance", tag_trigger: "trigger", tag_project: "project",
  // editing
  source_of: "Source of {path}", save: "Save", discard: "Discard", unsaved: "Not saved", saved: "Saved {path}", edit_hint: "Ctrl Enter saves. What you type stays in this tab until then. Marks such as ⟨private⟩ stand for what is not shown: leave them in place.",
  draft_restored: "Your unsaved changes are back.", draft_kept: "Unsaved changes of {path} are kept.",
  conflict: "This note was changed meanwhile", conflict_how: "Nothing was written. Choose what holds.", conflict_gone: "Nothing was written: the note is gone. Keep yours to make it again.",
  conflict_legend: "− the version that stands now, + yours", merge_both: "Merge both changes", keep_mine: "Keep mine", take_theirs: "Take the other", merge_by_hand: "Merge by hand", by_hand: "The other version, to take from; then save yours.",
  merged: "Both changes are merged below. Look at them, then save.",
  // statements
  correct: "Correct", correct_yes: "Correct it", confirm: "Confirm", confirm_yes: "Let it hold", forget: "Forget", forget_yes: "Erase for good", forget_whole: "Forget note", undo: "Undo", undo_yes: "Undo it",
  preview: "Show what changes", holds_instead: "What holds instead", empty_strikes: "Leave it empty to strike the statement and put nothing beside it.", why: "Why (for the record)", diff: "Changes",
  which: "Which statement", similar: "These say nearly the same and still stand:", corrected: "Corrected: {n} struck.", confirmed: "It holds now.", redacted: "Redacted: {kinds}",
  forget_what: "What", forget_value: "Which", forget_text: "words", forget_lines: "lines of a note", forget_note: "a note", forget_person: "a person", forget_session: "a session",
  forget_warns: "Places that go for good, with what was made from them: {n}. This cannot be undone.", forgotten: "Forgotten, places: {n}.", left: "{n} traces are left: see commonplace forget.", nothing_to_forget: "Nothing of it is found.", unreachable_copies: "Copies that cannot be reached from here:",
  forget_hint: "These words alone go, the rest of the sentence stays. For all of it choose “lines of a note”.", forget_warns_made: "What was made from it goes for good. This cannot be undone.",
  where_notes: "note", where_links: "link", where_transcripts: "transcript", where_spool: "queue", where_history: "history", where_usage: "record of use", where_answers: "answer", where_vectors: "vector", where_index: "index", where_marks: "mark",
  where_logs: "log", where_leftovers: "leftover", where_foreign: "other program", where_requests: "request", where_copies: "copy",
  undoes: "Changes taken back: {n}", undone: "Undone.", undo_this: "Undo this change", is_undone: "undone",
  remember: "New entry", remember_yes: "Remember", entry: "What is to be remembered", long_term: "In MEMORY.md, for long", remembered: "Remembered in {place}",
  // lists
  filter_notes: "Filter by name", notes_shown: "{n} of {total} notes", new_note: "New note", new_name: "Its path", one_line: "1 line", lines: "{n} lines",
  day: "Day", earlier: "Earlier", later: "Later", no_days: "No note has a date.", history: "History", only_memory: "MEMORY.md only", no_runs: "Nothing was changed yet by commonplace.", no_memory: "There is no MEMORY.md yet.",
  by_owner: "you", by_agent: "an agent", by_tool: "a tool", by_untrusted: "a stranger",
  // feed
  feed_about: "What agents and you ask, read and write: the last of it, and what comes.", live: "live", not_live: "not connected", pause: "Pause", go_on: "Go on", paused: "paused, {n} new", quiet: "Quiet so far.",
  did_search: "searched", did_recall: "recalled", did_get: "read", did_write: "wrote", did_remove: "removed", did_change: "changed", count: "{n} places", count_lines: "{n} lines", tokens_of: "gave {n} tokens; all notes hold {all}", tokens_of_recall: "gave {n} tokens with their frame; all notes hold {all}",
  run_consolidate: "consolidation", run_rollup: "rollup", run_correct: "correction", run_confirm: "confirmation", run_forget: "forgetting", run_import: "import", run_write: "edit", run_undo: "undo",
  run_reject: "rejection", run_of: "{run}: {what}", undo_of: "undo of {what}", not_kept: "What was there before is not kept.", and_more: " and {n} more", struck_by: "struck by {who}",
  why_edited_by_hand: "edited by hand", why_an_agent_edited_its_memory: "an agent edited its memory", why_an_agent_replaced_it: "an agent replaced it", why_an_agent_stored_it: "an agent stored it", why_the_originals_of_a_month_are_deleted: "the originals of a month are deleted",
  group_versions: "Versions", group_schedule: "Schedule", group_sqlite: "SQLite", group_model: "Bundled model", group_settings: "Settings", group_providers: "Providers", group_workspace: "Workspace", group_notes: "Notes", group_index: "Index", group_stores: "Records", group_disk: "Disk", group_permissions: "Permissions", group_clients: "Clients",
  // review
  review_about: "A consolidation proposes what long-term memory should say, from daily notes. Nothing is written before you accept it, line by line.", days_of_notes: "Days of notes", propose: "Propose", proposing: "Notes are read; this may take a while…",
  no_model: "No language model is set, so only what notes say in so many words is proposed. Set one with: commonplace models use --llm PROVIDER/MODEL", proposed: "Lines proposed: {n}, from {candidates} statements.", reject_all: "Reject all", accept_chosen: "Accept the chosen", accepted: "Lines written: {n}.",
  rejected: "Nothing was written.", rejected_lines: "Lines that failed the checks", conflicts: "What cannot both hold", orphans: "Lines whose sources are gone", replaces: "Replaces", rests_on: "Rests on", none_chosen: "Choose a line first.",
  op_add: "add", op_merge: "merge", op_supersede: "replace", op_expire: "expire", op_conflict: "conflict", op_keep: "keep",
  // sessions
  no_sessions: "No transcripts are followed. This command says how:", last_turns: "The last {n} messages.", role_user: "User", role_assistant: "Assistant", role_tool: "Tool", role_system: "System", tool: "tool",
  // charts and health
  notes: "Notes", questions_30: "Questions in 30 days", spared: "Tokens spared", median: "Median search", cost_30: "Models in 30 days", notes_by_month: "Notes by month", questions_by_day: "Questions by day", tokens_by_day: "Tokens by day", tokens_given: "given", tokens_all: "spared",
  costs_by_day: "Costs by day", dollars: "US dollars", no_figures: "No figures yet.", figures: "Figures", when: "When", most_found: "Found most", unanswered: "Questions that found nothing", never_found: "Notes that no question found ({n})",
  examine: "Examine again", examining: "Everything is examined…", online_too: "Call providers too", verdict_ok: "All is well.", verdict_warning: "It works. To look at: {n}.", verdict_wrong: "Wrong: {n}.", checks: "{n} checks",
  state_ok: "fine", state_warning: "warning", state_wrong: "wrong", state_skipped: "skipped", this_memory: "This memory", workspace: "Workspace", passages: "Passages", vectors: "Vectors", of_passages: "{n}, {pending} to come", index: "Index",
  collections: "Collections", folder: "Folder", models: "Models", model: "Model", embedding_model: "Vectors are computed by", calls: "Calls", tokens: "Tokens", no_calls: "No language model was called yet.",
  owners_alone: "This is the owner's. This server answers for the agent {agent}.", as_agent: "as {agent}", only_read: "This memory may only be read here.", waiting: "to decide", requests: "Agents ask to have forgotten", requests_about: "You see every place that would go before anything does. Requests end by themselves after a week.", asks_to_forget: "asks to forget {kind}:", look: "Look at it", refuse: "Refuse", refused: "Refused. Nothing was changed.", unfinished: "A forgetting was killed before it was done:", resume: "Carry it on",
  consolidation: "Consolidation", show_more: "Show {n} more", earlier_entries: "Show earlier entries", later_entries: "Show later entries", older_changes: "Show older changes", older_sessions: "Show older sessions", earlier_messages: "Show earlier messages", from_line: "From line {n}", key_more: "Show more of a list", tag_status: "status", tag_valid_until: "valid until",
  elsewhere: "This is of another workspace, which is only read here.", with_remedy: "{message} — {remedy}", colon: ": ", comma: ", ", see_change: "see what changed",
};
