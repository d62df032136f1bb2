-- Rows and vectors of a restore.

-- Restore lines of one kind of an export, a JSON array of them, after begin_restore and in its transaction. Types of
-- entities and edges are read in their one form (canonical_type). A row whose key is free is written as it stands in
-- the line; one that is there already and says the same is left alone; one that says something else stays, and is a
-- conflict. problems: [{row, reason, conflict}], row from 1; unless all are conflicts, nothing was written. Triggers
-- index, close the hierarchy, refuse overlaps and queue as for any write; what was believed is a line, so nothing is
-- kept again. Cost: a handful of set-based statements for a batch of any size. Admin. Security definer: writes every
-- table of the namespace. Errors: 42501, P0002, 22xxx and 23xxx of the line that they come from.
create or replace function loci_api.restore_rows(p_namespace text, p_kind text, p_lines jsonb)
returns table (written integer, unchanged integer, problems jsonb)
language plpgsql volatile security definer set search_path = '' set timezone = 'UTC' set extra_float_digits = 1
set enable_seqscan = off
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'admin');
    v_kind  text := p_kind || '_kind';  -- where lines have a column kind
    v_typed boolean := p_kind in ('entity', 'entity_belief', 'edge_type', 'edge');
    v_lines jsonb := (select jsonb_agg(case when l ? v_kind then l - v_kind || jsonb_build_object('kind', l -> v_kind)
                                       else l - 'kind' end
                                       || case when v_typed and jsonb_typeof(l -> 'type') = 'string'
                                           then jsonb_build_object('type', loci.canonical_type(l ->> 'type'))
                                           else '{}' end order by o)
                      from jsonb_array_elements(p_lines) with ordinality x(l, o));
    v_query record;
begin
    select * into v_query from loci_internal.restore_query(p_kind);
    written := 0;
    unchanged := 0;
    execute format($query$select jsonb_agg(jsonb_build_object('row', c.row, 'conflict', false, 'reason',
                     loci_internal.line_differences(c.line, c.read, false))) from (%s) c$query$,
                     v_query.check_lines) into problems using v_ns, v_lines;
    if problems is null then
        select jsonb_agg(jsonb_build_object('row', s.row, 'conflict', false, 'reason', s.reason)) into problems
        from loci_internal.unresolved_references(v_ns, p_kind, v_lines) s;
    end if;
    if problems is null then
        if p_kind = 'memory' and loci_internal.is_operator() then
            perform loci_internal.advance_sequence('loci_data.memories_doc_id_seq',
                                                   (select max((l ->> 'doc_id')::bigint)
                                                    from jsonb_array_elements(v_lines) l), 1::bigint << 40);
        elsif p_kind = 'conversation_turn' then
            perform loci_internal.advance_sequence('loci_data.conversation_turns_id_seq',
                                                   (select max((l ->> 'id')::bigint)
                                                    from jsonb_array_elements(v_lines) l), 1::bigint << 40);
        end if;
        execute v_query.write_lines into written, problems using v_ns,
            case when p_kind in ('name_candidate', 'name_queue')
                then loci_internal.restore_names_to_find(v_ns, p_kind, v_lines) else v_lines end;
        unchanged := jsonb_array_length(v_lines) - written - coalesce(jsonb_array_length(problems), 0);
        problems := (select jsonb_agg(jsonb_build_object('row', p.row, 'conflict', true,
                                                         'reason', format('%s is here with other content: %s',
                         replace(p_kind, '_', ' '), loci_internal.line_differences(p.line, p.here, true))))
                     from jsonb_to_recordset(problems) p("row" bigint, line jsonb, here jsonb));
    end if;
    problems := coalesce(problems, '[]');
    return next;
end $$;
comment on function loci_api.restore_rows(text, text, jsonb) is
    'Restore lines of a kind of an export, as a JSON array. Admin. Errors: 42501, P0002, 22xxx, 23xxx.';

-- Make a sequence go on after a number that a restored row has, if it lies at most p_most ahead. Another session may
-- draw numbers at the same moment, and none may be given out twice: a short way is drawn through, a long one is jumped
-- from a number drawn. Errors: 22023 where the number is further away.
create or replace function loci_internal.advance_sequence(p_sequence regclass, p_number bigint, p_most bigint)
returns void
language plpgsql volatile set search_path = ''
as $$
declare
    v_gap bigint := p_number - coalesce(pg_catalog.pg_sequence_last_value(p_sequence), 0);
begin
    if v_gap > p_most then
        raise invalid_parameter_value
            using message = format('the number %s is outside the range that this server can restore', p_number);
    elsif v_gap > 100000 then
        perform setval(p_sequence, nextval(p_sequence) + v_gap);
    else
        perform nextval(p_sequence) from generate_series(1, v_gap);
    end if;
end $$;
comment on function loci_internal.advance_sequence(regclass, bigint, bigint) is
    'Make a sequence go on after a number. Errors: 22023.';

-- In which fields do a line and a row differ, in words? p_row null fields are absent ones, so that unknown and missing
-- fields are named. p_here: the row is one that is stored; else it is what the line was read as. No errors.
create or replace function loci_internal.line_differences(p_line jsonb, p_row jsonb, p_here boolean) returns text
language sql immutable parallel safe set search_path = ''
as $$
    select string_agg(case
        when l.value is null then format('%s: is missing', key)
        when r.value is null then format('%s: is no field of this kind', key)
        when p_here then format('%s is %s here and %s in the file', key, left(r.value::text, 100),
                                left(l.value::text, 100))
        else format('%s: %s must be written as %s', key, left(l.value::text, 100), left(r.value::text, 100)) end, '; '
            order by key)
    from (select key, value from jsonb_each(p_line)) l full join (select key, value from jsonb_each(p_row)) r
        using (key)
    where l.value is distinct from r.value
$$;
comment on function loci_internal.line_differences(jsonb, jsonb, boolean) is
    'Fields in which a line of an export differs from a row, in words.';

-- Lines about names still to be found in memories (kinds name_candidate and name_queue) matter only for memories that
-- this transaction has restored: the others have been read here since, or wait here already. A memory restored by this
-- transaction waits in name_queue since its start, by the trigger of memories; lines of name_queue take that place, and
-- finish_restore removes the rest. One index probe a line. No errors.
create or replace function loci_internal.restore_names_to_find(p_namespace_id integer, p_kind text, p_lines jsonb)
returns jsonb
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_lines jsonb;
begin
    select coalesce(jsonb_agg(l.line order by l.place), '[]') into v_lines
    from jsonb_array_elements(p_lines) with ordinality l(line, place)
    where (select q.enqueued_at from loci_data.name_queue q
           where q.namespace_id = p_namespace_id and q.memory_id = (l.line ->> 'memory_id')::uuid)
               = transaction_timestamp();
    if p_kind = 'name_queue' then
        delete from loci_data.name_queue q
        where q.namespace_id = p_namespace_id
          and q.memory_id = any (array(select (l ->> 'memory_id')::uuid from jsonb_array_elements(v_lines) l));
    end if;
    return v_lines;
end $$;
comment on function loci_internal.restore_names_to_find(integer, text, jsonb) is
    'Lines of an export about names still to be found that matter for memories restored just now.';

-- Restore vectors of an export, JSON array of {memory_id, embedding}, made by the model that is active here
-- (begin_restore says whether they were); a vector that is there already stays. Takes their memories off the embedding
-- queue. One index probe a line. Admin. Security definer: writes memory_vectors. Errors: 42501, P0002, 22023, 22P02,
-- 23503 (memory_id).
create or replace function loci_api.restore_vectors(p_namespace text, p_lines jsonb)
returns table (written integer, unchanged integer, problems jsonb)
language plpgsql volatile security definer set search_path from current set enable_seqscan = off
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'admin');
    v_model smallint := (select m.id from loci_data.embedding_models m where m.active);
    v_wrong jsonb;
begin
    select l into v_wrong from jsonb_array_elements(p_lines) l
    where l - array['kind', 'memory_id', 'embedding'] <> '{}' or not l ?& array['memory_id', 'embedding']
      or jsonb_typeof(l -> 'embedding') <> 'array' limit 1;
    if found then
        raise invalid_parameter_value
            using message = 'a vector has exactly the fields memory_id and embedding, an array of numbers',
            column = 'embedding';
    end if;
    select l -> 'memory_id' into v_wrong from jsonb_array_elements(p_lines) l
    where (select m.id from loci_data.memories m where m.namespace_id = v_ns
           and m.id = (l ->> 'memory_id')::uuid) is null limit 1;
    if found then
        raise foreign_key_violation using message = format('memory_id: there is no memory %s', v_wrong #>> '{}'),
            column = 'memory_id';
    end if;
    select coalesce(loci_internal.upsert_memory_vectors(v_ns, array_agg((l ->> 'memory_id')::uuid),
                                                        array_agg((l ->> 'embedding')::halfvec)), 0) into written
    from jsonb_array_elements(p_lines) l
    where (select v.memory_id from loci_data.memory_vectors v
           where v.namespace_id = v_ns and v.memory_id = (l ->> 'memory_id')::uuid and v.model_id = v_model) is null
    having count(*) > 0;
    written := coalesce(written, 0);
    unchanged := jsonb_array_length(p_lines) - written;
    problems := '[]';
    return next;
end $$;
comment on function loci_api.restore_vectors(text, jsonb) is
    'Restore vectors of an export that the active model made. Admin. Errors: 42501, P0002, 22023, 22P02, 23503.';
