-- Export of a namespace: header, kinds of rows, pages.

-- The columns of a kind of line, from the catalogue: name, field in lines (a column kind is attribute_kind or the like
-- there), type, whether it is part of the primary key, whether lines have it, and the expression that restores it from
-- a line's row r. namespace_id is never among them: a line cannot name a namespace. A few catalogue look-ups. No
-- errors; an unknown kind has no columns.
create or replace function loci_internal.export_columns(p_kind text)
returns table (place integer, name text, field text, type text, is_key boolean, in_file boolean, is_settled boolean,
               value text)
language sql stable set search_path = ''
as $$
    select a.attnum::integer, a.attname::text, case when a.attname = 'kind' then k.kind || '_kind'
        else a.attname::text end, pg_catalog.format_type(a.atttypid, a.atttypmod),
        a.attnum = any (i.indkey::smallint[]),
           not k.computed ? a.attname::text, k.settled ? a.attname::text,
           coalesce(k.computed ->> a.attname::text, k.settled ->> a.attname::text, format('r.%I', a.attname))
    from loci_api.export_kinds() k
    join pg_catalog.pg_class c on c.relname = k.source and c.relnamespace = 'loci_data'::regnamespace
    join pg_catalog.pg_index i on i.indrelid = c.oid and i.indisprimary
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         and a.attname <> 'namespace_id'
    where k.kind = p_kind
$$;
comment on function loci_internal.export_columns(text) is
    'Columns of a kind of line in an export, from the catalogue.';

-- The first line of an export: the namespace itself, its own settings, how many lines of each kind follow, and with
-- p_vectors the active model whose vectors are among them. kinds: the counts of that line as a column. Admin.
-- Cost: counts of every table of the namespace by index. Security definer: reads them all. Errors: 42501, P0002, 22023
-- (vectors asked for, and no model is active).
create or replace function loci_api.export_header(p_namespace text, p_vectors boolean default false)
returns table (line text, kinds text[], counts bigint[])
language plpgsql stable security definer set search_path = '' set timezone = 'UTC' set extra_float_digits = 1
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'admin');
    v_kind  record;
    v_count bigint;
    v_model loci_data.embedding_models;
begin
    for v_kind in select k.kind, k.source from loci_api.export_kinds() k order by k.place loop
        execute format('select count(*) from loci_data.%I t where t.namespace_id = $1', v_kind.source) into v_count
            using v_ns;
        kinds := array_append(kinds, v_kind.kind);
        counts := array_append(counts, v_count);
    end loop;
    if p_vectors then
        select * into v_model from loci_data.embedding_models m where m.active;
        if not found then
            raise invalid_parameter_value
                using message = 'there is no embedding model here, so there are no vectors to export',
                column = 'vectors';
        end if;
        kinds := array_append(kinds, 'vector');
        counts := array_append(counts,
                               (select count(*) from loci_data.memory_vectors v where v.namespace_id = v_ns
                                and v.model_id = v_model.id));
    end if;
    select row_to_json(l)::text into line
    from (select 'namespace' as kind, 'loci' as format, 1 as version, n.name, n.description, c.cfgname as language,
          n.settings,
                 n.created_at, n.updated_at, statement_timestamp() as exported_at,
                 case when v_model.id is not null then json_build_object('model', v_model.name,
                     'dimensions', v_model.dimensions) end as vectors,
                 (select format('{%s}', string_agg(format('"%s":%s', u.kind, u.count), ',' order by u.place))::json
                  from unnest(kinds, counts) with ordinality u(kind, count, place)) as counts
          from loci_data.namespaces n join pg_catalog.pg_ts_config c on c.oid = n.language where n.id = v_ns) l;
    return next;
end $$;
comment on function loci_api.export_header(text, boolean) is
    'First line of an export, its kinds in order and how many lines each has. Admin. Errors: 42501, P0002, 22023.';

-- What is a namespace made of? One row a kind of line in an export, in an order in which lines refer only to what
-- stands before them. The one place to add a table: all its columns are exported, whatever they are, but
--   computed  what restoring computes anew: an expression over the line's row r and the namespace's number $1
--   settled   in the file and no part of what a line says: numbers of this server, kept where they are free; same
--            expressions
-- ordering: of the lines, unique in a namespace; null: the primary key. tests/sql/test_transfer.py says what is not
-- exported, and why. Constant. No errors.
create or replace function loci_api.export_kinds()
returns table (place integer, kind text, source text, ordering text[], computed jsonb, settled jsonb)
language sql immutable parallel safe
as $$
    select k.place, k.kind, k.source, k.ordering::text[], coalesce(k.computed, '{}')::jsonb,
           coalesce(k.settled, '{}')::jsonb
    from (values
        (10, 'edge_type', 'edge_types', null, null, null),
        (20, 'entity', 'entities', null, '{"canonical_name": "loci.canonical_name(r.name)"}', null),
        (22, 'entity_session', 'entity_sessions', null, null, null),
        (25, 'entity_belief', 'entity_beliefs', null, '{"canonical_name": "loci.canonical_name(r.name)"}', null),
        (27, 'entity_merge', 'entity_merges', null, null, null),
        (30, 'lineage', 'lineages', null, null, null),
        (40, 'memory', 'memories', '{doc_id}', '{"content_hash": "loci_internal.content_hash(r.content)"}',
            '{"doc_id": "loci_internal.unused_doc_id($1, r.doc_id)"}'),
        (50, 'memory_belief', 'memory_beliefs', null, null, null),
        (60, 'placement', 'memory_placements', null, null, null),
        (70, 'link', 'memory_links', null, null, null),
        (80, 'mention', 'memory_mentions', null,
            '{"operation_id": "nullif(current_setting(''loci.operation'', true), '''')::uuid"}', null),
        (90, 'name_candidate', 'name_candidates', null, '{"canonical_name": "loci.canonical_name(r.name)"}', null),
        (100, 'name_queue', 'name_queue', null, null, null),
        (110, 'aspect', 'aspects', null, '{"canonical_name": "loci.canonical_name(r.name)"}', null),
        (120, 'attribute', 'attributes', null,
            '{"entity_id": "(select a.entity_id from loci_data.aspects a where a.namespace_id = $1 and a.id = '
            'r.aspect_id)"}',
            -- lines of version 0.1.0 say only what follows; finish_restore brings them in step
            '{"observations": "coalesce(r.observations, 1)", "own_to": "coalesce(r.own_to, r.stated_to)", '
            '"stated_to": "case when r.observations is null and r.status = ''active'' then r.valid_to '
            'else r.stated_to end", "ended_at": "case when r.observations is null and r.status = ''superseded'' '
            'and r.superseded_by is null and r.withdrawn_at is null then r.valid_to else r.ended_at end", '
            '"taken_back_at": "case when r.observations is null and r.status = ''deleted'' '
            'then coalesce(r.superseded_at, r.updated_at) else r.taken_back_at end"}'),
        (125, 'attribute_belief', 'attribute_beliefs', null, null, null),
        (128, 'verdict', 'supersession_verdicts', null, null, null),
        (130, 'edge', 'edges', null,
         '{"fades_at": "loci.fades_at(r.confidence, loci_internal.decay_rate($1, r.type), r.restored_at, '
         '(loci_internal.settings($1) ->> ''edge_threshold'')::double precision)"}', null),
        (135, 'edge_belief', 'edge_beliefs', null, null, null),
        (137, 'supersession', 'supersessions', null, null, null),
        (140, 'edge_observation', 'edge_observations', null,
            '{"operation_id": "nullif(current_setting(''loci.operation'', true), '''')::uuid"}', null),
        (145, 'edge_move', 'edge_moves', null, null, null),
        (150, 'working_memory', 'working_memory', null,
            '{"document": "loci_internal.session_text_document($1, '
            'loci_internal.working_memory_text(r.key, r.value, r.category, r.tags))", '
            '"terms": "loci_internal.count_terms(loci_internal.session_text_document($1, '
            'loci_internal.working_memory_text(r.key, r.value, r.category, r.tags)))"}', null),
        (160, 'conversation_turn', 'conversation_turns', null,
            '{"document": "loci_internal.session_text_document($1, r.content)", "terms": '
            '"loci_internal.count_terms(loci_internal.session_text_document($1, r.content))", '
            '"read_by": "''{}''::text[]", "failed_reads": "0::smallint"}', null),
        (170, 'session_end', 'session_ends', null, null, null),
        (171, 'session_count', 'session_counts', null, null, null),
        (172, 'injection', 'injections', null, null, null),
        (173, 'feedback', 'feedback_events', null, null, null),
        (174, 'context_session', 'context_sessions', null, null, null),
        (175, 'signal', 'feedback_signals', null, null, null),
        (180, 'recall', 'recalls', null, null, null),
        (181, 'recall_result', 'recall_results', null, null, null)
    ) k(place, kind, source, ordering, computed, settled)
$$;
comment on function loci_api.export_kinds() is
    'Kinds of lines in an export, in order: their tables, and what of a row is not taken from its line.';

-- The document number under which a memory is restored: its own where this server has given out higher ones and the
-- namespace has no other memory with it, else the next. Two index look-ups.
create or replace function loci_internal.unused_doc_id(p_namespace_id integer, p_doc_id bigint) returns bigint
language sql volatile set search_path = ''
as $$
    select case when p_doc_id between 1 and
        coalesce(pg_catalog.pg_sequence_last_value('loci_data.memories_doc_id_seq'), 0)
                 and not exists (select from loci_data.memories m where m.namespace_id = p_namespace_id
                                 and m.doc_id = p_doc_id)
                then p_doc_id else nextval('loci_data.memories_doc_id_seq') end
$$;
comment on function loci_internal.unused_doc_id(integer, bigint) is
    'Document number of a restored memory.';

-- The next lines of a kind in an export, joined by newlines: rows of them, at most 1,000 and about p_bytes, and the
-- position after the last one, to be given for the next page; no rows: the kind is done. Every page in one snapshot
-- makes a consistent export. Cost: an index range; rows are read one by one until the page is full, so memory stays
-- flat. Admin. Security definer: reads tables of every kind. Errors: 42501, P0002, 22023.
create or replace function loci_api.export_page(p_namespace text, p_kind text, p_after jsonb default null,
                                                p_bytes integer default 1048576)
returns table (lines text, rows integer, last jsonb)
language plpgsql stable security definer set search_path = '' set timezone = 'UTC' set extra_float_digits = 1
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'admin');
    v_row   record;
    v_lines text[] := '{}';
    v_bytes bigint := 0;
begin
    for v_row in execute loci_internal.export_query(p_kind) using v_ns, p_after loop
        v_lines := array_append(v_lines, v_row.line);
        v_bytes := v_bytes + octet_length(v_row.line);
        last := v_row.position;
        exit when v_bytes >= p_bytes;
    end loop;
    lines := array_to_string(v_lines, E'\n');
    rows := cardinality(v_lines);
    return next;
end $$;
comment on function loci_api.export_page(text, text, jsonb, integer) is
    'A page of lines of an export: kind, position after which to begin, size. Admin. Errors: 42501, P0002, 22023.';

-- The statement that reads lines of a kind: $1 the namespace's number, $2 the position after which to begin (null: the
-- start). Its rows are (line, position), in the kind's order; fields stand in the order of the columns. A range of the
-- index that has that order. Vectors are those of the active model. Errors: 22023 for an unknown kind.
create or replace function loci_internal.export_query(p_kind text) returns text
language plpgsql stable set search_path = ''
as $$
declare
    v_query text;
begin
    if p_kind = 'vector' then
        return $query$
            select format('{"kind":"vector","memory_id":"%s","embedding":%s}', v.memory_id, v.embedding) as line,
                   jsonb_build_object('memory_id', v.memory_id) as position
            from loci_data.memory_vectors v
            where v.namespace_id = $1 and v.model_id = (select m.id from loci_data.embedding_models m where m.active)
              and ($2 is null or v.memory_id > ($2 ->> 'memory_id')::uuid)
            order by v.memory_id limit 1000$query$;
    end if;
    select format($query$
            select (select row_to_json(l) from (select %L as kind, %s) l)::text as line,
                   jsonb_build_object(%s) as position
            from loci_data.%I t
            where t.namespace_id = $1 and ($2 is null or (%s) > (%s))
            order by %s limit 1000$query$,
           p_kind, (select string_agg(format('t.%I as %I', c.name, c.field), ', ' order by c.place)
                    from loci_internal.export_columns(p_kind) c where c.in_file),
           string_agg(format('%L, t.%I', c.name, c.name), ', ' order by o.place), k.source,
           string_agg(format('t.%I', c.name), ', ' order by o.place),
           string_agg(format('($2 ->> %L)::%s', c.name, c.type), ', ' order by o.place),
           string_agg(format('t.%I', c.name), ', ' order by o.place)) into v_query
    from loci_api.export_kinds() k
    cross join lateral unnest(coalesce(k.ordering,
                                       (select array_agg(c.name
                                                         order by array_position(i.indkey::smallint[],
                                                             c.place::smallint))
                                                    from loci_internal.export_columns(p_kind) c, pg_catalog.pg_index i
                                                    where c.is_key and i.indisprimary
                                                      and i.indrelid = format('loci_data.%I', k.source)::regclass)))
               with ordinality o(name, place)
    join loci_internal.export_columns(p_kind) c on c.name = o.name
    where k.kind = p_kind
    group by k.source;
    if v_query is null then
        raise invalid_parameter_value using message = format('an export has no lines of kind %L', p_kind),
            column = 'kind';
    end if;
    return v_query;
end $$;
comment on function loci_internal.export_query(text) is
    'Statement that reads lines of a kind for an export. Errors: 22023.';
