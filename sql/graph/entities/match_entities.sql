-- Which known entities does a text name, in the order of the text? Whole words and phrases of at least 3
-- characters, case-insensitive, names and aliases. Cost follows the text: see find_entities_in_text, which does the
-- work.
-- Security definer: the hot path, past the policies; checks the caller itself.
create or replace function loci.match_entities(p_namespace text, p_text text)
returns table (id uuid, name text, type text, matched text, is_alias boolean, mentions integer, pinned boolean,
               "position" integer)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select e.id, e.name, e.type, f.matched, f.is_alias, e.mentions, e.pinned, f.position
    from loci_internal.find_entities_in_text(v_namespace_id, p_text) f
    cross join lateral (select i.* from loci_data.entities i where i.namespace_id = v_namespace_id
                        and i.id = f.id offset 0) e
    order by f.position, length(f.matched) desc, e.id;
end $$;
comment on function loci.match_entities(text, text) is
    'Known entities named in a text (whole words and phrases, names and aliases), in order of their first place. '
    'Errors: 42501, P0002.';
