-- Reports of dry runs say in words what would be written, since there is no memory to look up, and reasons of refusals
-- may quote what a model made of turns of conversation. Once something was erased, or a conversation deleted (p_turns:
-- its turns), the former say only how much it would have been, since whose words they were cannot be told; of passes
-- that read these turns the latter go. Reads the reports of the namespace, which are kept for job_days.
create or replace function loci_internal.erase_pass_plans(p_namespace_id integer, p_turns bigint[] default '{}')
returns void
language sql volatile set search_path = ''
as $$
    update loci_data.pass_runs r
    set changes = (select
                   coalesce(jsonb_agg(jsonb_build_object('action', e.entry -> 'action', 'ids', e.entry -> 'ids')
                                      order by e.place), '[]')
                   from jsonb_array_elements(r.changes) with ordinality e(entry, place))
    where r.namespace_id = p_namespace_id and r.outcome = 'planned' and r.changes <> '[]';
    update loci_data.pass_runs r
    set refused = (select jsonb_agg(e.entry || '{"reason": "[erased]"}' order by e.place)
                   from jsonb_array_elements(r.refused) with ordinality e(entry, place))
    where r.namespace_id = p_namespace_id and r.refused <> '[]' and r.turns && p_turns
$$;
comment on function loci_internal.erase_pass_plans(integer, bigint[]) is
    'Take the words out of reports of dry runs, and of what was refused to passes that read these turns.';
