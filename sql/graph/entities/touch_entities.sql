-- A text has just matched these entities: note when. Returns how many there are; a merged one counts for the one that
-- it went into. updated_at stays: nothing about them changed. Security definer: writes past the policies; checks the
-- caller itself.
create or replace function loci_api.touch_entities(p_namespace text, p_ids uuid[]) returns integer
language plpgsql volatile security definer set search_path = '' set plan_cache_mode = force_generic_plan
-- one look-up an entity, however many there are
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_touched      integer;
begin
    with locked as materialized (
        select e.id from (select distinct loci_internal.surviving_entity_id(v_namespace_id, i.id) as id
                          from unnest(p_ids) i(id)) k
        join loci_data.entities e on e.namespace_id = v_namespace_id and e.id = k.id
        order by e.canonical_name for no key update of e
    )
    update loci_data.entities e set last_referenced_at = clock_timestamp()
    from locked l where e.namespace_id = v_namespace_id and e.id = l.id;
    get diagnostics v_touched = row_count;
    return v_touched;
end $$;
comment on function loci_api.touch_entities(text, uuid[]) is
    'Set last_referenced_at of entities to now; returns how many exist. Errors: 42501, P0002.';
