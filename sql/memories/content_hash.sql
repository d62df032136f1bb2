-- Identity of a content for exact duplicates: its composed form (NFC) counts. Immutable, because the encoding of a
-- database never changes.
create or replace function loci_internal.content_hash(p_content text) returns bytea
language sql immutable parallel safe
return sha256(convert_to(case when octet_length(p_content) = length(p_content) or p_content is nfc normalized
                              then p_content else normalize(p_content, nfc) end, 'UTF8'));
comment on function loci_internal.content_hash(text) is
    'SHA-256 of the UTF-8 bytes of a content in composed form (NFC).';
