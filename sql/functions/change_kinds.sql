-- What can change: the kinds of things in the change feed. Called by list_changes to refuse what is none.
create or replace function loci.change_kinds() returns text[]
language sql immutable parallel safe
return array['memory', 'placement', 'link', 'entity', 'edge', 'aspect', 'attribute', 'supersession', 'merge', 'edge_type', 'turn',
             'namespace', 'key', 'grant', 'working_memory'];
comment on function loci.change_kinds() is 'Kinds of things in the change feed.';
