-- The number under which names with these first two pieces are found: the upper half is of the first alone, so that all that
-- begins with one word stands together in the index; the lower half is of the second, or of the first if there is no other.
-- name_phrases reckons the same for each place of a text. Pure, inlines. Called by index_entity_names.
create or replace function loci.name_head(p_first text, p_second text) returns integer
language sql immutable parallel safe
return (hashtext(p_first) & (-65536)) | (hashtext(coalesce(p_second, p_first)) & 65535);
comment on function loci.name_head(text, text) is 'Hash of the first two pieces of a name, 16 bits each. Internal.';
