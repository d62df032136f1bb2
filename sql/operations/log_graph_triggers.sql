-- As log_memory_triggers.sql, for the graph and the facts: kind, id, key, columns.
create or replace trigger zz_entities_created after insert on loci_data.entities
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('entity', 'id', 'name', 'type', 'aliases', 'description',
                                                   'metadata', 'pinned_at', 'merged_into');
create or replace trigger zz_entities_changed after update on loci_data.entities
    for each row when ((old.name, old.type, old.aliases, old.description, old.metadata, old.pinned_at, old.merged_into)
                       is distinct from (new.name, new.type, new.aliases, new.description, new.metadata, new.pinned_at,
                                         new.merged_into))
    execute function loci_internal.log_row_change('entity', 'id', 'name', 'type', 'aliases', 'description', 'metadata',
                                                  'pinned_at', 'merged_into');
create or replace trigger zz_entities_erased after delete on loci_data.entities
    referencing old table as gone for each statement execute function loci_internal.log_rows_change('entity', 'id', '');
create or replace trigger zz_edges_created after insert on loci_data.edges
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('edge', 'id', 'source_id type target_id literal', 'confidence',
                                                   'strength', 'aspect_id', 'valid_from', 'valid_to', 'spells',
                                                   'superseded_at', 'metadata');
create or replace trigger zz_edges_changed after update on loci_data.edges
    for each row
        when ((old.confidence, old.strength, old.aspect_id, old.valid_from, old.valid_to, old.spells,
               old.superseded_at, old.metadata)
                       is distinct from (new.confidence, new.strength, new.aspect_id, new.valid_from, new.valid_to,
                                         new.spells, new.superseded_at, new.metadata))
    execute function loci_internal.log_row_change('edge', 'id', 'source_id type target_id literal', 'confidence',
                                                  'strength', 'aspect_id', 'valid_from', 'valid_to', 'spells',
                                                  'superseded_at', 'metadata');
create or replace trigger zz_edges_erased after delete on loci_data.edges
    referencing old table as gone for each statement execute function loci_internal.log_rows_change('edge', 'id', '');
create or replace trigger zz_aspects_created after insert on loci_data.aspects
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('aspect', 'id', 'entity_id name', 'weight', 'single_valued');
create or replace trigger zz_aspects_changed after update on loci_data.aspects
    for each row when ((old.entity_id, old.name, old.weight, old.single_valued)
                       is distinct from (new.entity_id, new.name, new.weight, new.single_valued))
    execute function loci_internal.log_row_change('aspect', 'id', 'entity_id name', 'weight', 'single_valued');
create or replace trigger zz_aspects_erased after delete on loci_data.aspects
    referencing old table as gone for each statement execute function loci_internal.log_rows_change('aspect', 'id', '');
create or replace trigger zz_attributes_created after insert on loci_data.attributes
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('attribute', 'id', 'aspect_id', 'kind', 'content', 'status',
                                                   'superseded_by', 'memory_id', 'confidence', 'importance',
                                                   'valid_from', 'valid_to', 'stated_to', 'ended_at',
                                                   'taken_back_at');
create or replace trigger zz_attributes_changed after update on loci_data.attributes
    for each row
        when ((old.aspect_id, old.content, old.status, old.superseded_by, old.memory_id, old.confidence,
               old.importance, old.valid_from, old.valid_to, old.stated_to, old.ended_at, old.taken_back_at)
                       is distinct from (new.aspect_id, new.content, new.status, new.superseded_by, new.memory_id,
                                         new.confidence, new.importance, new.valid_from, new.valid_to,
                                         new.stated_to, new.ended_at, new.taken_back_at))
    execute function loci_internal.log_row_change('attribute', 'id', 'aspect_id', 'kind', 'content', 'status',
                                                  'superseded_by', 'memory_id', 'confidence', 'importance',
                                                  'valid_from', 'valid_to', 'stated_to', 'ended_at',
                                                   'taken_back_at');
create or replace trigger zz_attributes_erased after delete on loci_data.attributes
    referencing old table as gone
        for each statement execute function loci_internal.log_rows_change('attribute', 'id', '');
create or replace trigger zz_supersessions_created after insert on loci_data.supersessions
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('supersession', 'id',
                                                   'older_id newer_id older_edge_id newer_edge_id', 'ended_at',
                                                   'signal', 'confidence', 'status');
create or replace trigger zz_supersessions_changed after update on loci_data.supersessions
    for each row when ((old.status)
                       is distinct from (new.status))
    execute function loci_internal.log_row_change('supersession', 'id',
                                                  'older_id newer_id older_edge_id newer_edge_id', 'ended_at',
                                                  'signal', 'confidence', 'status');
create or replace trigger zz_supersessions_erased after delete on loci_data.supersessions
    referencing old table as gone
        for each statement execute function loci_internal.log_rows_change('supersession', 'id', '');
create or replace trigger zz_entity_merges_created after insert on loci_data.entity_merges
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('merge', 'id', 'kind kept_id merged_id', 'reason', 'undone_at');
create or replace trigger zz_entity_merges_changed after update on loci_data.entity_merges
    for each row when ((old.undone_at)
                       is distinct from (new.undone_at))
    execute function loci_internal.log_row_change('merge', 'id', 'kind kept_id merged_id', 'reason', 'undone_at');
create or replace trigger zz_entity_merges_erased after delete on loci_data.entity_merges
    referencing old table as gone for each statement execute function loci_internal.log_rows_change('merge', 'id', '');
create or replace trigger zz_edge_types_created after insert on loci_data.edge_types
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('edge_type', '', 'type', 'decay_rate', 'single_valued',
                                                   'description');
create or replace trigger zz_edge_types_changed after update on loci_data.edge_types
    for each row when ((old.decay_rate, old.single_valued, old.description)
                       is distinct from (new.decay_rate, new.single_valued, new.description))
    execute function loci_internal.log_row_change('edge_type', '', 'type', 'decay_rate', 'single_valued',
                                                  'description');
