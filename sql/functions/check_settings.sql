-- Are these settings known, and of a type and in a range that setting_definitions allows? Null is allowed: the setting
-- goes back to its default.
create or replace function loci.check_settings(p_settings jsonb) returns void
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
                message = format('unknown setting %L', v_setting.path), column = 'settings.' || v_setting.path;
        elsif jsonb_typeof(v_setting.value) not in (jsonb_typeof(v_setting.standard), 'null')
              or (jsonb_typeof(v_setting.value) = 'number'
                  and (v_setting.value::numeric < v_setting.lowest or v_setting.value::numeric > v_setting.highest
                       or (v_setting.type = 'integer' and v_setting.value::numeric % 1 <> 0)))
              or (v_setting.type like '% | %'
                  and v_setting.value #>> '{}' <> all (string_to_array(v_setting.type, ' | '))) then
            raise invalid_parameter_value using
                message = format('setting %s cannot be %s; its default is %s',
                                 v_setting.path, v_setting.value, v_setting.standard),
                column = 'settings.' || v_setting.path;
        end if;
    end loop;
end $$;
comment on function loci.check_settings(jsonb) is 'Raise 22023 for a setting that is unknown or cannot be. Internal.';
