-- Which entities does a question mean, by name or by meaning? mode name: similar_names; semantic:
-- similar_entities; both: either, with score 1 − (1 − by name) × (1 − by meaning), so that an exact name is always
-- first and each adds to the other. Without a vector or a model, meaning finds nothing and the names serve alone.
-- matched: the name or alias that was like the question. As of p_as_of (entities seen by then), as known at p_known_at:
-- by the names of then; meaning is that of today. p_model_id: the model that made the vector; null: not known,
-- it counts as the active one's. Security definer: past the policies; checks first. Errors: 42501, P0002, 22023, 40001
-- (another model is active by now).
create or replace function loci.search_entities(
    p_namespace text, p_query text, p_embedding real[] default null, p_limit integer default 10,
    p_type text default null,
    p_mode text default 'both', p_model_id smallint default null,
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (id uuid, name text, type text, aliases text[], description text, mentions integer, pinned boolean,
               score double precision, matched text, by_name double precision, by_meaning double precision)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_depth        integer := least(1000, greatest(50, 2 * p_limit));
begin
    perform loci_internal.check_limit(p_limit);
    if p_mode is null or p_mode not in ('name', 'semantic', 'both') then
        raise invalid_parameter_value
            using message = format('mode must be name, semantic or both, not %s', coalesce(p_mode, 'null')),
            column = 'mode';
    end if;
    if p_embedding is not null and p_model_id <> (select m.id from loci_data.embedding_models m where m.active) then
        raise serialization_failure using message = 'the embedding model changed during the request',
            hint = 'Try again.';
    end if;
    return query
    select e.id, e.name, e.type, e.aliases, e.description, e.mentions, e.pinned,
           1 - (1 - coalesce(f.name, 0)) * (1 - greatest(f.meaning, 0)),
           f.matched, f.name, f.meaning
    from (select a.id, max(a.matched) as matched, max(a.name) as name, max(a.meaning) as meaning
          from (select n.id, n.matched, n.score as name, null::double precision as meaning
                from loci_internal.similar_names(v_namespace_id, p_query, v_depth, p_type, p_as_of, p_known_at) n
                where p_mode <> 'semantic'
                union all
                select s.id, null, null, s.score
                from loci.similar_entities(p_namespace, p_embedding, v_depth, p_type, null, p_as_of, p_known_at) s
                where p_mode <> 'name' and p_embedding is not null) a
          group by a.id) f
    cross join lateral loci_internal.entities_at(v_namespace_id, array[f.id], p_as_of, p_known_at) e
    order by 8 desc, e.mentions desc, e.id limit p_limit;
end $$;
comment on function loci.search_entities(text, text, real[], integer, text, text, smallint, timestamptz, timestamptz) is
    'Entities that a question means, by name, by meaning, or both (mode), best first, as of a moment, as known at '
    'another. Errors: 42501, P0002, 22023, '
    '40001.';
