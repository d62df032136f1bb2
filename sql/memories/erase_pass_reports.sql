-- Reports of passes that name erased things say no words about them any more: of what was refused the reason goes, of
-- what was changed all but the action and the ids. Reads the reports of the namespace, which are kept for job_days.
create or replace function loci_internal.erase_pass_reports(p_namespace_id integer, p_ids uuid[]) returns void
language sql volatile set search_path = ''
as $$
    update loci_data.pass_runs r
    set refused = (select
                   coalesce(jsonb_agg(case when e.entry -> 'ids' ?| p_ids::text[]
                                      then e.entry || '{"reason": "[erased]"}' else e.entry end order by e.place), '[]')
                   from jsonb_array_elements(r.refused) with ordinality e(entry, place)),
        changes = (select
                   coalesce(jsonb_agg(case when e.entry -> 'ids' ?| p_ids::text[]
                                      or e.entry ->> 'into' = any (p_ids::text[])
                                                  then jsonb_strip_nulls(
                                                      jsonb_build_object('action', e.entry -> 'action',
                                                          'ids', e.entry -> 'ids', 'into', e.entry -> 'into'))
                                                  else e.entry end order by e.place), '[]')
                   from jsonb_array_elements(r.changes) with ordinality e(entry, place))
    where r.namespace_id = p_namespace_id
      and (exists (select from jsonb_array_elements(r.refused) e where e -> 'ids' ?| p_ids::text[])
           or exists (select from jsonb_array_elements(r.changes) e where e -> 'ids' ?| p_ids::text[]
                      or e ->> 'into' = any (p_ids::text[])))
$$;
comment on function loci_internal.erase_pass_reports(integer, uuid[]) is
    'Take words about erased things out of reports of passes.';
