-- Are these settings known, and of the type and range of their defaults? Null settings are allowed: they go back to the default.
create or replace function loci.check_settings(p_settings jsonb) returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_setting record;
begin
    for v_setting in
        select s.key, s.value, d.value as standard from jsonb_each(p_settings) s
        left join jsonb_each(loci.default_settings()) d using (key)
        union all
        select 'weights.' || w.key, w.value, loci.default_settings() -> 'weights' -> w.key
        from jsonb_each(case when jsonb_typeof(p_settings -> 'weights') = 'object' then p_settings -> 'weights' else '{}' end) w
    loop
        if v_setting.standard is null then
            raise invalid_parameter_value using message = format('unknown setting %L', v_setting.key), column = 'settings.' || v_setting.key;
        elsif jsonb_typeof(v_setting.value) not in (jsonb_typeof(v_setting.standard), 'null')
              or (jsonb_typeof(v_setting.value) = 'number' and (v_setting.value::text)::double precision < 0)
              or (v_setting.key = 'dream_removed_share' and (v_setting.value #>> '{}')::double precision > 1)
              or (v_setting.key = 'reinforcement' and v_setting.value #>> '{}' not in ('full', 'initial', 'running_average'))
              or (v_setting.key = 'supersession' and v_setting.value #>> '{}' not in ('apply', 'propose', 'off'))
              or (v_setting.key = 'supersession_model' and v_setting.value #>> '{}' not in ('apply', 'propose', 'off')) then
            raise invalid_parameter_value using
                message = format('setting %s cannot be %s; its default is %s', v_setting.key, v_setting.value, v_setting.standard),
                column = 'settings.' || v_setting.key;
        end if;
    end loop;
end $$;
comment on function loci.check_settings(jsonb) is 'Raise 22023 for an unknown or ill-typed namespace setting.';
