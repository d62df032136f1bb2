-- Bring all facts of a namespace in step with their memories and with the decisions about them: those that were
-- restored from elsewhere, or written before triggers saw to it. Says how many changed; else none. Reads the
-- namespace's attributes once. Security definer: writes past the policies; checks the caller itself. Errors: 42501,
-- P0002.
create or replace function loci_api.propagate_memory_status(p_namespace text) returns integer
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
begin
    return cardinality(loci_internal.refold_facts(v_namespace_id, array(
        select a.id from loci_data.attributes a
        cross join lateral loci_internal.fact_span(v_namespace_id, a.id) f
        cross join lateral loci_internal.fold_facts(v_namespace_id, array[a.id]) o
        where a.namespace_id = v_namespace_id
          and (a.own_to, a.status, a.superseded_by, a.valid_to)
              is distinct from (f.own_to, o.status, o.superseded_by, o.valid_to)), clock_timestamp()));
end $$;
comment on function loci_api.propagate_memory_status(text) is
    'Bring facts in step with their memories and decisions; how many changed. Errors: 42501, P0002.';
