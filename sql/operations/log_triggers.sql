-- Triggers of the operations log.

-- As log_triggers.sql, for the graph and the facts: kind, id, key, columns.
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

-- The change feed and the operations log follow every table of meaning in the same transaction: kind, id, key, columns.
-- Behind 'all but' stand the columns that are ignored; all others count. Names begin with zz: they fire last, and see
-- what the others made of a row.
create or replace trigger zz_memories_created after insert on loci_data.memories
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('memory', 'id', 'lineage version', 'all but', 'namespace_id', 'id',
                                                   'doc_id', 'lineage_id', 'content', 'content_hash', 'fold_scope',
                                     'recorded_at', 'believed_at', 'observations', 'last_observed_at', 'created_by',
                                     'updated_at');

create or replace trigger zz_memories_changed after update on loci_data.memories
    for each row when ((old.believed_at, old.superseded_at)
                       is distinct from (new.believed_at, new.superseded_at))  -- see archive_memory_belief
    execute function loci_internal.log_row_change('memory', 'id', 'lineage version', 'all but', 'namespace_id', 'id',
                                                  'doc_id', 'lineage_id', 'content', 'content_hash', 'fold_scope',
                                     'recorded_at', 'believed_at', 'observations', 'last_observed_at', 'created_by',
                                     'updated_at');

create or replace trigger zz_memories_erased after delete on loci_data.memories
    referencing old table as gone for each statement execute function loci_internal.log_rows_change('memory', 'id', '');

create or replace trigger zz_memory_placements_created after insert on loci_data.memory_placements
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('placement', 'node_id', 'parent_id valid_from recorded_at',
                                                   'valid_to', 'superseded_at');

create or replace trigger zz_memory_placements_changed after update on loci_data.memory_placements
    for each row when ((old.superseded_at)
                       is distinct from (new.superseded_at))
    execute function loci_internal.log_row_change('placement', 'node_id', 'parent_id valid_from recorded_at',
                                                  'valid_to', 'superseded_at');

create or replace trigger zz_memory_placements_erased after delete on loci_data.memory_placements
    referencing old table as gone
        for each statement execute function loci_internal.log_rows_change('placement', 'node_id', 'parent_id');

create or replace trigger zz_memory_links_created after insert on loci_data.memory_links
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('link', 'source_id', 'target_id type recorded_at', 'strength',
                                                   'superseded_at');

create or replace trigger zz_memory_links_changed after update on loci_data.memory_links
    for each row when ((old.superseded_at)
                       is distinct from (new.superseded_at))
    execute function loci_internal.log_row_change('link', 'source_id', 'target_id type recorded_at', 'strength',
                                                  'superseded_at');

create or replace trigger zz_memory_links_erased after delete on loci_data.memory_links
    referencing old table as gone
        for each statement execute function loci_internal.log_rows_change('link', 'source_id', 'target_id');

create or replace trigger zz_conversation_turns_created after insert on loci_data.conversation_turns
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('turn', '', 'session_id id role');

create or replace trigger zz_conversation_turns_erased after delete on loci_data.conversation_turns
    referencing old table as gone
        for each statement execute function loci_internal.log_rows_change('turn', '', 'session_id id role');

create or replace trigger zz_grants_created after insert on loci_data.grants
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('grant', 'agent_id', '', 'role', 'expires_at');

create or replace trigger zz_grants_changed after update on loci_data.grants
    for each row when ((old.role, old.expires_at)
                       is distinct from (new.role, new.expires_at))
    execute function loci_internal.log_row_change('grant', 'agent_id', '', 'role', 'expires_at');

create or replace trigger zz_grants_erased after delete on loci_data.grants
    referencing old table as gone
        for each statement execute function loci_internal.log_rows_change('grant', 'agent_id', '');

create or replace trigger zz_invitations_created after insert on loci_data.invitations
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('invitation', 'agent_id', '', 'role', 'expires_at');

create or replace trigger zz_invitations_changed after update on loci_data.invitations
    for each row when ((old.role, old.expires_at)
                       is distinct from (new.role, new.expires_at))
    execute function loci_internal.log_row_change('invitation', 'agent_id', '', 'role', 'expires_at');

create or replace trigger zz_invitations_erased after delete on loci_data.invitations
    referencing old table as gone
        for each statement execute function loci_internal.log_rows_change('invitation', 'agent_id', '');

create or replace trigger zz_namespaces_created after insert on loci_data.namespaces
    for each row execute function loci_internal.log_row_change('namespace', '', 'name', 'description', 'settings');

create or replace trigger zz_namespaces_changed after update on loci_data.namespaces
    for each row when ((old.name, old.description, old.settings)
                       is distinct from (new.name, new.description, new.settings))
    execute function loci_internal.log_row_change('namespace', '', 'name', 'description', 'settings');

create or replace trigger zz_namespaces_erased after delete on loci_data.namespaces
    for each row execute function loci_internal.delete_namespace_changes();
