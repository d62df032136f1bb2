-- Attributes under aspects, as known at a moment (infinity: as believed now): status, validity, importance and
-- confidence are those believed then. Whether one is visible is the caller's question. Index attributes_history, and
-- the primary key of attribute_beliefs where something changed since. Inlines.
create or replace function loci_internal.attribute_rows(p_namespace_id integer, p_aspect_id uuid,
                                                        p_known_at timestamptz)
returns table (id uuid, aspect_id uuid, kind text, content text, status text, superseded_by uuid, memory_id uuid,
               confidence double precision,
               importance double precision, valid_from timestamptz, valid_to timestamptz, recorded_at timestamptz,
               superseded_at timestamptz, updated_at timestamptz, observations integer)
language sql stable parallel safe
as $$
    select a.id, a.aspect_id, a.kind, a.content, s.status, s.superseded_by, a.memory_id, s.confidence, s.importance,
           s.valid_from, s.valid_to,
           a.recorded_at, case when a.superseded_at <= p_known_at then a.superseded_at end, s.updated_at,
           a.observations
    from loci_data.attributes a
    left join lateral (
        select b.* from loci_data.attribute_beliefs b
        where a.updated_at > p_known_at and b.namespace_id = p_namespace_id and b.attribute_id = a.id
          and b.believed_to > p_known_at
        order by b.believed_to limit 1) b on true
    cross join lateral (
        select a.status, a.superseded_by, a.confidence, a.importance, a.valid_from, a.valid_to, a.updated_at
        where b.attribute_id is null
        union all
        select b.status, b.superseded_by, b.confidence, b.importance, b.valid_from, b.valid_to, b.believed_at
        where b.attribute_id is not null) s
    where a.namespace_id = p_namespace_id and a.aspect_id = p_aspect_id and a.recorded_at <= p_known_at
$$;
comment on function loci_internal.attribute_rows(integer, uuid, timestamptz) is
    'Attributes of an aspect as known at a moment.';
