-- Which known entities does a text name, in the order of the text? Whole words and phrases of at least 3
-- characters, case-insensitive, names and aliases. Cost follows the text: see find_entities_in_text, which does the
-- work. As of p_as_of (entities seen by then), as known at p_known_at: by the names of then, at the cost of
-- find_entities_in_text_at. Mentions are a present figure.
-- Security definer: the hot path, past the policies; checks the caller itself.
create or replace function loci.match_entities(p_namespace text, p_text text, p_as_of timestamptz default null,
                                               p_known_at timestamptz default null)
returns table (id uuid, name text, type text, matched text, is_alias boolean, mentions integer, pinned boolean,
               "position" integer)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    if p_known_at is not null then
        return query
        select e.id, e.name, e.type, f.matched, f.is_alias, e.mentions, e.pinned, f.position
        from loci_internal.find_entities_in_text_at(v_namespace_id, p_text, p_known_at) f
        cross join lateral loci_internal.entities_at(v_namespace_id, array[f.id], p_as_of, p_known_at) e
        order by f.position, length(f.matched) desc, e.id;
        return;
    end if;
    return query
    select e.id, e.name, e.type, f.matched, f.is_alias, e.mentions, e.pinned, f.position
    from loci_internal.find_entities_in_text(v_namespace_id, p_text) f
    cross join lateral (select i.* from loci_data.entities i where i.namespace_id = v_namespace_id
                        and i.id = f.id offset 0) e
    where (p_as_of is null or e.first_seen_at <= p_as_of) and not e.hidden
    order by f.position, length(f.matched) desc, e.id;
end $$;
comment on function loci.match_entities(text, text, timestamptz, timestamptz) is
    'Known entities named in a text (whole words and phrases, names and aliases), in order of their first place, '
    'as of a moment, as known at another. Errors: 42501, P0002.';
