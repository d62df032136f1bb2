-- Settings in force in a namespace.

-- The settings in force in a namespace: defaults, overlaid with what the namespace sets. One primary key look-up.
create or replace function loci_internal.settings(p_namespace_id integer) returns jsonb
language sql stable parallel safe
as $$
    select loci.default_settings() || n.settings
           || jsonb_build_object('weights', loci.default_settings() -> 'weights' ||
                                 coalesce(n.settings -> 'weights', '{}'))
    from loci_data.namespaces n where n.id = p_namespace_id
$$;
comment on function loci_internal.settings(integer) is
    'Settings in force in a namespace, as one JSON object.';

-- One number of the settings in force in a namespace: a look-up where settings would put all of them together.
create or replace function loci_internal.setting_number(p_namespace_id integer, p_name text) returns double precision
language sql stable parallel safe
as $$
    select coalesce(n.settings ->> p_name, loci.default_settings() ->> p_name)::double precision
    from loci_data.namespaces n where n.id = p_namespace_id
$$;
comment on function loci_internal.setting_number(integer, text) is
    'A number among the settings in force in a namespace.';

-- Are these settings known, and of a type and in a range that setting_definitions allows? Null is allowed: the setting
-- goes back to its default.
create or replace function loci_internal.check_settings(p_settings jsonb) returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_weights jsonb := p_settings -> 'weights';
    v_setting record;
begin
    if jsonb_typeof(v_weights) is distinct from 'object' then
        v_weights := '{}';
    end if;
    for v_setting in
        select g.path, g.value, loci.default_settings() #> g.keys as standard, d.type, d.lowest, d.highest
        from (select s.key as path, array[s.key] as keys, s.value from jsonb_each(p_settings) s
              union all
              select 'weights.' || w.key, array['weights', w.key], w.value from jsonb_each(v_weights) w) g
        left join loci.setting_definitions() d on string_to_array(d.name, '.') = g.keys
    loop
        if v_setting.standard is null then
            raise invalid_parameter_value using
                message = format('unknown setting %L', v_setting.path) || coalesce('; the nearest is ' || quote_literal(
                    loci_internal.nearest_name(v_setting.path, array(
                        select d.name from loci.setting_definitions() d))), ''),
                column = 'settings.' || v_setting.path;
        elsif jsonb_typeof(v_setting.value) not in (jsonb_typeof(v_setting.standard), 'null')
              or (jsonb_typeof(v_setting.value) = 'number'
                  and (v_setting.value::numeric < v_setting.lowest or v_setting.value::numeric > v_setting.highest
                       or (v_setting.type = 'integer' and v_setting.value::numeric % 1 <> 0)))
              or (v_setting.type like '% | %'
                  and v_setting.value #>> '{}' <> all (string_to_array(v_setting.type, ' | '))) then
            raise invalid_parameter_value using
                message = format('setting %s must be %s, not %s; its default is %s', v_setting.path,
                    case v_setting.type when 'integer' then 'an integer' when 'number' then 'a number'
                        when 'boolean' then 'true or false' when 'text' then 'text'
                        else coalesce(replace(v_setting.type, ' | ', ' or '), 'an object') end
                    || case when v_setting.highest is not null
                            then format(' from %s to %s', v_setting.lowest, v_setting.highest)
                            when v_setting.lowest is not null then format(' of at least %s', v_setting.lowest)
                            else '' end, v_setting.value, v_setting.standard),
                column = 'settings.' || v_setting.path;
        end if;
    end loop;
end $$;
comment on function loci_internal.check_settings(jsonb) is
    'Raise 22023 for a setting that is unknown or cannot be.';

-- What is in force in a namespace that sets nothing? setting_definitions says what each means and may be. A
-- literal, because it is asked for several times in a recall: 11 µs, where building it from its parts takes 180.
create or replace function loci.default_settings() returns jsonb
language sql immutable parallel safe
return '{
    "fusion": "linear", "rrf_k": 5, "relative_similarity": 0.5, "depth": 100, "recall_waiting": 10,
    "recall_namespaces": 100, "recall_log": false,
    "recall_log_days": 30, "recall_rerank": true, "recall_rewrite": true,
    "weights": {"lexical": 1.0, "vector": 0.8, "graph": 0.7, "names": 3.0, "hierarchy": 0.5, "walk": 0.35,
                "working_memory": 0.7, "conversation": 0.7},
    "speaker_weight": 2.0, "assistant_weight": 0.5,

    "decay_rate": 0.01, "edge_threshold": 0.1, "reinforcement": "full",
    "max_hops": 2, "fan_out": 1000, "traverse_ms": 250, "context_triples": 15,
    "match_length": 3, "match_namesakes": 100, "extracted_length": 4, "constellation_entities": 500,

    "focal_projects": 5, "focal_entities": 20, "walk_aspects": 10, "walk_attributes": 20, "walk_edges": 30,
    "walk_min_strength": 0.3, "walk_ms": 500,
    "supersession": "apply", "shared_tokens": 2, "supersession_threshold": 0.7, "supersession_candidates": 50,
    "feedback_delta": 0.02, "aspect_weight_min": 0.1, "aspect_weight_max": 1.0,
    "aspect_stale_days": 14, "aspect_decay": 0.005, "aspect_decay_sessions": 10,

    "working_memory_ttl": 300, "working_memory_entries": 50, "working_memory_similarity": 0.2,
    "replayed_turns": 20, "searched_turns": 10000,
    "context_profile": 10, "context_memories": 8, "context_first": 5, "context_similarity": 0.5, "context_keys": 100,

    "retain_model": true, "retain_facts": 200, "retain_links": 3,
    "retain_duplicate": 0.5, "retain_related": 0.6, "retain_overlap": 0.5,
    "unsettled_named": 6, "unsettled_similarity": 0.3, "settle_model": true,
    "reflect_place": 0.4, "reflect_new": 2, "reflect_related": 0.7, "reflect_links": 3,

    "dream_schedule": "", "dream_memories": true, "dream_entities": true, "dream_preferences": true,
    "dream_graph": true, "dream_limit": 1000, "dream_signals": 50, "dream_signal_days": 7, "signal_days": 90,
    "dream_unchanged_days": 7, "dream_removed_share": 0.1, "dream_removed_few": 3,
    "dream_entity_days": 30, "dream_busy_minutes": 5,
    "extracted_confidence": 0.9,
    "protected_importance": 0.8, "protected_observations": 5, "protected_confidence": 0.7,
    "preference_strong": 1, "preference_mild": 2, "preference_minor": 3, "enrich_model": true,
    "supersession_model": "off", "supersession_model_pairs": 40, "supersession_model_siblings": 5,

    "job_days": 30, "model_tokens": 2000000, "model_cost": 0,
    "change_days": 30, "operation_days": 365, "log_working_memory": false, "key_use_days": 90
}'::jsonb;
comment on function loci.default_settings() is
    'Settings of a namespace and their defaults.';
