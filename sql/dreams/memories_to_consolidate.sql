-- What is a consolidation shown? Current memories of layers 1 and 2: concepts and facts; domains stand for themselves,
-- and episodes are events, of which none is another's duplicate. Where there are more than dream_limit, half of them
-- are the newest; the rest is the next stretch of all others, in order of category, so that what is alike is seen
-- together: another stretch whenever dream_unchanged_days are over, so that in time everything is seen. kept: no pass
-- may remove it. content: with its subject in front (text_with_subject). Reads the namespace's memories once. Security
-- definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.memories_to_consolidate(p_namespace text,
                                                            p_at timestamptz default clock_timestamp())
returns table (id uuid, content text, category text, tags text[], importance double precision, kept boolean,
               created_at timestamptz, updated_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_settings jsonb := loci_internal.settings(v_ns);
    v_limit    bigint := (v_settings ->> 'dream_limit')::bigint;
    v_stretch  bigint := case when isfinite(p_at) then
        floor(extract(epoch from p_at) / (86400 * greatest((v_settings ->> 'dream_unchanged_days')::numeric, 1)))
            else 0 end;
begin
    return query
    with shown as materialized (
        select m.id, m.category, m.recorded_at, m.doc_id, count(*) over () as total,
               row_number() over (order by m.recorded_at desc, m.doc_id desc) as nth
        from loci_data.memories m
        where m.namespace_id = v_ns and m.layer in (1, 2) and loci.holds_at(m, p_at, null)
    ), older as (
        select s.id, s.total - (v_limit + 1) / 2 as total,
               row_number() over (order by s.category, s.doc_id) - 1 as place
        from shown s where s.total > v_limit and s.nth > (v_limit + 1) / 2
    ), picked as (
        select s.id from shown s where s.total <= v_limit or s.nth <= (v_limit + 1) / 2
        union all
        select o.id from older o
        where o.place / nullif(v_limit / 2, 0) = v_stretch % nullif(
            (o.total + v_limit / 2 - 1) / nullif(v_limit / 2, 0), 0)
    )
    select m.id, loci_internal.text_with_subject(m.content, m.about), m.category, m.tags, m.importance,
           m.importance >= (v_settings ->> 'protected_importance')::double precision
           or m.observations >= (v_settings ->> 'protected_observations')::integer,
           m.recorded_at, m.updated_at
    from picked p
    cross join lateral (select o.* from loci_data.memories o where o.namespace_id = v_ns and o.id = p.id limit 1) m
    order by m.category, m.doc_id;
end $$;
comment on function loci_api.memories_to_consolidate(text, timestamptz) is
    'Memories that a consolidation is shown. Errors: 42501, P0002.';
