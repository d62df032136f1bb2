-- What hangs under an entity? Its aspects, heaviest first, each with the attributes and constraints that held
-- at p_as_of, as known at p_known_at (null: now, and as believed now), most important first. A superseded attribute
-- held until it was replaced; a deleted one never did. The weight of an aspect is a present figure. Cost follows the
-- attributes of the entity. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci.list_aspects(p_namespace text, p_entity text, p_as_of timestamptz default null,
                                             p_known_at timestamptz default null)
returns table (id uuid, entity_id uuid, name text, canonical_name text, weight double precision, single_valued boolean,
               confirmed_at timestamptz, created_at timestamptz, updated_at timestamptz, attributes jsonb,
               constraints jsonb)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_entity_id    uuid := loci_internal.entity_at_or_removed(v_namespace_id, p_entity, p_known_at);
    v_as_of        timestamptz := coalesce(p_as_of, clock_timestamp());
    v_known_at     timestamptz := coalesce(p_known_at, 'infinity');
begin
    if v_entity_id is null then
        raise no_data_found using message = format('entity %L does not exist', p_entity), column = 'entity';
    end if;
    return query
    select a.id, a.entity_id, a.name, a.canonical_name, a.weight, a.single_valued, a.confirmed_at, a.created_at,
           a.updated_at,
           coalesce(held.attributes, '[]'), coalesce(held.constraints, '[]')
    from loci_data.aspects a
    cross join lateral (
        select jsonb_agg(to_jsonb(r) order by r.importance desc, r.id)
            filter (where r.kind = 'attribute') as attributes,
               jsonb_agg(to_jsonb(r) order by r.importance desc, r.id)
                   filter (where r.kind = 'constraint') as constraints
        from loci_internal.attribute_rows(v_namespace_id, a.id, v_known_at) r
        where r.status <> 'deleted'
          and loci.holds_at(r.valid_from, r.valid_to, r.recorded_at, null, v_as_of, v_known_at)) held
    where a.namespace_id = v_namespace_id and a.entity_id = v_entity_id and a.created_at <= v_known_at
    order by a.weight desc, a.canonical_name;
end $$;
comment on function loci.list_aspects(text, text, timestamptz, timestamptz) is
    'Aspects of an entity with the attributes and constraints that held at a moment, as known at another. Errors: '
    '42501, P0002.';
