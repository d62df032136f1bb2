-- Restore of an export: begin, references, end.

-- Say why the vectors of a file are not taken here; null: they are, or there are none. The active model then stays what
-- it is until the end: see finish_reembedding.
create or replace function loci_internal.refuse_other_vectors(p_header jsonb) returns text
language plpgsql volatile set search_path = ''
as $$
declare
    v_model loci_data.embedding_models;
begin
    if jsonb_typeof(p_header -> 'vectors') is distinct from 'object' then
        return null;
    end if;
    lock table loci_data.memories in row exclusive mode;
    select * into v_model from loci_data.embedding_models m where m.active;
    if v_model.name is not distinct from p_header #>> '{vectors,model}'
        and coalesce(v_model.dimensions = (p_header #>> '{vectors,dimensions}')::integer, true) then
        return null;
    end if;
    return format('the vectors of the file are of the model %s (%s dimensions); %s', p_header #>> '{vectors,model}',
                  p_header #>> '{vectors,dimensions}',
                  case when v_model.id is null then 'there is none here yet'
                      else format('the one here is %s (%s)', v_model.name, v_model.dimensions) end);
end $$;
comment on function loci_internal.refuse_other_vectors(jsonb) is
    'Why the vectors of a file are not taken.';

-- Begin to restore a namespace from the first line of an export. The operator's caller may name one that does not
-- exist: it is made. An empty namespace becomes what the line says; one with rows keeps its own description, language
-- and settings: kept names those that differ. vectors: why the vectors of the file are not taken here; null: they are,
-- or there are none. Admin. From here to the end of the transaction, others wait to move memories in this hierarchy,
-- and attributes may refer to later lines. Security definer: writes namespaces. Errors: 42501, P0002, 22023 (settings,
-- language), 23514 (name).
create or replace function loci_api.begin_restore(p_namespace text, p_header jsonb)
returns table (created boolean, kept text[], vectors text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns  integer;
    v_own loci_data.namespaces;
begin
    created := loci_internal.is_operator()
               and not exists (select from loci_data.namespaces n where n.name = p_namespace);
    if created then
        perform loci_api.create_namespace(p_namespace, p_header ->> 'description', p_header ->> 'language',
                                          p_header -> 'settings');
    end if;
    v_ns := loci_internal.authorize(p_namespace, 'admin');
    perform loci_internal.lock_hierarchy(v_ns, true);
    perform loci_internal.lock_decay_rates(v_ns);  -- edges are reckoned by the rates of now
    set constraints loci_data.attributes_superseded_by_fkey, loci_data.entities_merged_into_fkey deferred;
    -- rows of the past may stand on merged entities: see refuse_merged
    perform set_config('loci.restoring', 'on', true);
    if loci_internal.namespace_is_empty(v_ns) then
        perform loci_internal.check_settings(p_header -> 'settings');
        update loci_data.namespaces n
        set description = p_header ->> 'description', settings = p_header -> 'settings',
            created_at = (p_header ->> 'created_at')::timestamptz,
            updated_at = (p_header ->> 'updated_at')::timestamptz,
            language = loci_internal.text_language(p_header ->> 'language')
        where n.id = v_ns;
    end if;
    select * into v_own from loci_data.namespaces n where n.id = v_ns;
    kept := array(select f.name from (values
                      ('description', v_own.description is distinct from p_header ->> 'description'),
                      ('language', v_own.language
                       is distinct from loci_internal.text_language(p_header ->> 'language')),
                      ('settings', v_own.settings <> p_header -> 'settings')) f(name, differs) where f.differs);
    vectors := loci_internal.refuse_other_vectors(p_header);
    return next;
end $$;
comment on function loci_api.begin_restore(text, jsonb) is
    'Begin to restore a namespace: make it if it does not exist, and settle what its first line says. Admin. Errors: '
    '42501, P0002, 22023, 23514.';

-- Does a namespace hold nothing that an export would have? One probe a table. No errors.
create or replace function loci_internal.namespace_is_empty(p_namespace_id integer) returns boolean
language plpgsql stable set search_path = ''
as $$
declare
    v_source text;
    v_found  boolean;
begin
    for v_source in select k.source from loci_api.export_kinds() k loop
        execute format('select exists (select from loci_data.%I t where t.namespace_id = $1)', v_source) into v_found
            using p_namespace_id;
        if v_found then
            return false;
        end if;
    end loop;
    return true;
end $$;
comment on function loci_internal.namespace_is_empty(integer) is
    'Whether a namespace holds nothing.';

-- End of restoring a namespace: what could not be done line by line. Attributes may name a successor that stands after
-- them; restored memories that no line of name_queue spoke of were read for names before. Facts are
-- brought in step with their memories and decisions. Reads the attributes of the
-- namespace. Admin. Security definer, like the rest of restoring. Errors: 42501, P0002, 23503.
create or replace function loci_api.finish_restore(p_namespace text) returns void
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'admin');
    v_stray record;
begin
    select a.id, a.superseded_by into v_stray from loci_data.attributes a
    where a.namespace_id = v_ns and a.superseded_by is not null
      and not exists (select from loci_data.attributes b where b.namespace_id = v_ns and b.id = a.superseded_by)
    limit 1;
    if found then
        raise foreign_key_violation
            using message = format('attribute %s: superseded_by: there is no attribute %s', v_stray.id,
                                   v_stray.superseded_by),
            column = 'superseded_by';
    end if;
    select e.id, e.merged_into into v_stray from loci_data.entities e
    where e.namespace_id = v_ns and e.merged_into is not null
      and not exists (select from loci_data.entities k where k.namespace_id = v_ns and k.id = e.merged_into) limit 1;
    if found then
        raise foreign_key_violation
            using message = format('entity %s: merged_into: there is no entity %s', v_stray.id, v_stray.merged_into),
            column = 'merged_into';
    end if;
    insert into loci_data.supersessions (namespace_id, id, older_id, newer_id, signal, confidence, origin, status,
                                         created_at, decided_at)
    select v_ns, loci_api.uuid7(), a.id, a.superseded_by, 'replaced', 1, 'manual', 'applied', a.updated_at, a.updated_at
    from loci_data.attributes a
    where a.namespace_id = v_ns and a.superseded_by is not null
    on conflict on constraint supersessions_pair_key do nothing;  -- of version 0.1.0, which noted none
    perform loci_api.propagate_memory_status(p_namespace);
    delete from loci_data.name_queue q where q.namespace_id = v_ns and q.enqueued_at = transaction_timestamp();
    set constraints loci_data.attributes_superseded_by_fkey, loci_data.entities_merged_into_fkey immediate;
    perform set_config('loci.restoring', '', true);
end $$;
comment on function loci_api.finish_restore(text) is
    'End restoring: check what lines say of later ones, and leave to the worker what is still to be read. Admin. '
    'Errors: 42501, P0002, 23503.';

-- The two statements that restore lines of a kind; $1 is the namespace's number, $2 the lines as a JSON array.
--   check_lines  lines that are not read as they are written (unknown, missing or ill-formed fields): row, line, read
--   write_lines  writes rows whose primary key is free, all at once; how many, and the differing lines whose key is
--            taken: row, line, here
-- The namespace of a row is $1, whatever a line says. One probe of the primary key a line. Errors: 22023 for an unknown
-- kind.
create or replace function loci_internal.restore_query(p_kind text, out check_lines text, out write_lines text)
language plpgsql stable set search_path = ''
as $$
declare
    v_source  text := (select k.source from loci_api.export_kinds() k where k.kind = p_kind);
    v_absent  text[];  -- from the file, or from comparing
    v_ignored text[];
    v_columns text;
    v_values  text;
    v_key     text;
begin
    if v_source is null then
        raise invalid_parameter_value using message = format('kind: an export has no lines of kind %L', p_kind),
            column = 'kind';
    end if;
    select array_agg(c.name) filter (where not c.in_file) || array['namespace_id'],
           array_agg(c.name) filter (where not c.in_file or c.is_settled) || array['namespace_id'],
           string_agg(quote_ident(c.name), ', ' order by c.place), string_agg(c.value, ', ' order by c.place),
           string_agg(format('t.%I = %s', c.name, c.value), ' and ' order by c.place) filter (where c.is_key)
    into v_absent, v_ignored, v_columns, v_values, v_key
    from loci_internal.export_columns(p_kind) c;
    check_lines := format($query$
        select l.row, l.line, to_jsonb(r) - %2$L::text[] as read
        from jsonb_array_elements($2) with ordinality l(line, row)
        cross join lateral jsonb_populate_record(null::loci_data.%1$I, l.line) r
        where l.line is distinct from to_jsonb(r) - %2$L::text[] order by l.row$query$, v_source, v_absent);
    write_lines := format($query$
        with item as materialized (
            select l.row, l.line, r from jsonb_array_elements($2) with ordinality l(line, row)
            cross join lateral jsonb_populate_record(null::loci_data.%1$I, l.line) r
        ), known as materialized (
            select i.row, i.line - %2$L::text[] as line, k.here - %2$L::text[] as here
            from item i cross join lateral (select (i.r).*) r
            cross join lateral (select to_jsonb(t) as here from loci_data.%1$I t where t.namespace_id = $1
                                and %5$s limit 1) k
        ), added as (
            insert into loci_data.%1$I (namespace_id, %3$s) overriding system value
            select $1, %4$s from item i cross join lateral (select (i.r).*) r
            where i.row <> all (array(select k.row from known k)) order by i.row
            returning 1
        )
        select (select count(*) from added),
               (select jsonb_agg(jsonb_build_object('row', k.row, 'line', k.line, 'here', k.here) order by k.row)
                from known k where k.here <> k.line)
        $query$, v_source, v_ignored, v_columns, v_values, v_key);
end $$;
comment on function loci_internal.restore_query(text) is
    'Statements that check and write lines of a kind. Errors: 22023.';

-- References of restored lines that no foreign key guards: a memory belongs to the lineage that its name says;
-- placements and links connect lineages that have memories; what waits to be read is there. row: place in p_lines, from
-- 1. One index probe a line. No errors.
create or replace function loci_internal.unresolved_references(p_namespace_id integer, p_kind text, p_lines jsonb)
returns table ("row" bigint, reason text)
language plpgsql stable set search_path = '' set enable_seqscan = off
as $$
begin
    if p_kind = 'memory' then
        return query
        select l.row, case when o.id is not null
            then format('lineage: %L is the lineage %s with %s versions here', l.line ->> 'lineage', o.id, o.versions)
                           else format('lineage: there is no lineage %L', l.line ->> 'lineage') end
        from jsonb_array_elements(p_lines) with ordinality l(line, row)
        left join lateral (select n.id, n.versions from loci_data.lineages n
                           where n.namespace_id = p_namespace_id and n.lineage = l.line ->> 'lineage' limit 1) o on true
        where case when o.id is not null then o.id::text <> l.line ->> 'lineage_id'
          or o.versions < (l.line ->> 'version')::integer
                   else l.line ->> 'lineage' <> l.line ->> 'id' or l.line ->> 'lineage_id' <> l.line ->> 'id' end;
    elsif p_kind in ('placement', 'link') then
        return query
        select l.row, format('%s: there is no lineage %s', e.field, l.line ->> e.field)
        from jsonb_array_elements(p_lines) with ordinality l(line, row)
        cross join unnest(case p_kind when 'placement' then array['node_id', 'parent_id']
                          else array['source_id', 'target_id'] end) e(field)
        where (select m.id from loci_data.memories m
               where m.namespace_id = p_namespace_id and m.lineage_id = (l.line ->> e.field)::uuid limit 1) is null;
    elsif p_kind in ('name_candidate', 'name_queue') then
        return query
        select l.row, format('memory_id: there is no memory %s', l.line ->> 'memory_id')
        from jsonb_array_elements(p_lines) with ordinality l(line, row)
        where (select m.id from loci_data.memories m
               where m.namespace_id = p_namespace_id and m.id = (l.line ->> 'memory_id')::uuid) is null;
    end if;
end $$;
comment on function loci_internal.unresolved_references(integer, text, jsonb) is
    'Restored lines that refer to memories or lineages that are not there.';
