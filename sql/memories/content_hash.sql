-- Identity of a content for exact duplicates. Immutable, because the encoding of a database never changes.
create or replace function loci_internal.content_hash(p_content text) returns bytea
language sql immutable parallel safe
return sha256(convert_to(p_content, 'UTF8'));
comment on function loci_internal.content_hash(text) is
    'SHA-256 of the UTF-8 bytes of a content.';
