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
