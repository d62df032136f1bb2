-- Were the results of a logged recall of use? p_ratings: [{memory_id, useful, note?}]; the last word on a memory
-- counts. All or nothing. Rows are locked in order of their rank. Returns the memories rated. Security definer: writes
-- past the policies; checks the caller itself. Errors: 42501, P0002 (recall_id, the first memory that was not in the
-- answer), 22023 (recall_id, useful), 23514 (note).
create or replace function loci_api.rate_recall(p_namespace text, p_recall_id uuid, p_ratings jsonb)
returns table (memory_id uuid)
language plpgsql volatile security definer set search_path = ''
as $$
#variable_conflict use_column
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'writer');
    v_wrong        record;
begin
    if p_recall_id is null then
        raise invalid_parameter_value using message = 'recall_id is needed beside ratings', column = 'recall_id';
    end if;
    if not exists (select from loci_data.recalls r where r.namespace_id = v_namespace_id and r.id = p_recall_id) then
        raise no_data_found using message = format('recall %s does not exist', p_recall_id), column = 'recall_id';
    end if;
    perform from loci_data.recall_results x
    where x.namespace_id = v_namespace_id and x.recall_id = p_recall_id order by x.rank for no key update;
    select r.place - 1 as place, r.rating ->> 'memory_id' as id, r.rating ->> 'useful' is null as silent into v_wrong
    from jsonb_array_elements(p_ratings) with ordinality r(rating, place)
    where r.rating ->> 'useful' is null
       or not exists (select from loci_data.recall_results x where x.namespace_id = v_namespace_id
                      and x.recall_id = p_recall_id
                      and x.memory_id = (r.rating ->> 'memory_id')::uuid)
    order by r.place limit 1;
    if v_wrong.silent then
        raise invalid_parameter_value using message = 'useful must be true or false',
            column = format('ratings[%s].useful', v_wrong.place);
    elsif v_wrong.place is not null then
        raise no_data_found using message = format('memory %s was not in the answer of this recall',
                                                   coalesce(v_wrong.id, 'null')),
            column = format('ratings[%s].memory_id', v_wrong.place);
    end if;
    return query
    update loci_data.recall_results x
    set useful = r.useful, note = r.note, rated_at = clock_timestamp(), rated_by = loci.current_agent()
    from (select distinct on (u.rating ->> 'memory_id') (u.rating ->> 'memory_id')::uuid as id,
          (u.rating ->> 'useful')::boolean as useful,
                 u.rating ->> 'note' as note
          from jsonb_array_elements(p_ratings) with ordinality u(rating, place) order by u.rating ->> 'memory_id',
               u.place desc) r
    where x.namespace_id = v_namespace_id and x.recall_id = p_recall_id and x.memory_id = r.id
    returning x.memory_id;
end $$;
comment on function loci_api.rate_recall(text, uuid, jsonb) is
    'Say of results of a logged recall whether they were useful; the memories rated. Errors: 42501, P0002, 22023, '
    '23514.';
