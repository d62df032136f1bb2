-- A text has just matched these entities: note when (row G6, seed A). Returns how many there are;
-- a merged one counts for the one that it went into. updated_at stays: nothing
-- about them changed. Security definer: writes past the policies; checks the caller itself.
create or replace function loci.touch_entities(p_namespace text, p_ids uuid[]) returns integer
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci.authorize(p_namespace, 'writer');
    v_touched      integer;
begin
    with locked as materialized (
        select e.id from loci_data.entities e
        where e.namespace_id = v_namespace_id and e.id = any(array(select loci.kept_id(v_namespace_id, i) from unnest(p_ids) i))
        order by e.canonical_name for no key update
    )
    update loci_data.entities e set last_referenced_at = clock_timestamp()
    from locked l where e.namespace_id = v_namespace_id and e.id = l.id;
    get diagnostics v_touched = row_count;
    return v_touched;
end $$;
comment on function loci.touch_entities(text, uuid[]) is 'Set last_referenced_at of entities to now; returns how many exist. Errors: 42501, P0002.';
