-- Does a newer statement about something make an older one obsolete, and what gives it away? No row: it does not. Both
-- are taken to be about the same aspect of the same entity. p_single_valued: what the aspect is declared as (null: the
-- words decide). Pure: for trying out and for tests; a write and a sweep use the same parts. English. About 0.5 ms.
-- Security definer: its parts are internal; it reads no data. No errors.
create or replace function loci.contradiction(p_older text, p_newer text, p_single_valued boolean default null,
                                              p_shared_tokens integer default 2)
returns table (signal text, confidence double precision, evidence text[])
language sql immutable parallel safe security definer set search_path = ''
as $$
    select c.* from loci_internal.compare_statements(loci_internal.read_statement(left(p_older, 10000)),
                                                     loci_internal.read_statement(left(p_newer, 10000)),
                                                     p_single_valued, p_shared_tokens) c
$$;
comment on function loci.contradiction(text, text, boolean, integer) is
    'Whether a newer statement contradicts an older one: signal (negation, antonym, value_conflict, temporal_marker), '
    'confidence, evidence; no row if not.';
